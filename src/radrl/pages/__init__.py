"""What the pages and figures of several stages have in common.

Lives here: the look and the words that HTML pages and figures of several stages share. What one stage alone
shows stays with the stage.
"""

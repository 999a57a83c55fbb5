"""The command `radrl`: labels and scores for any system's reports; stages and studies, which DVC runs.

Not named `cli`: Kedro takes a package's module of that name for commands of its own.
"""

"""Reports on films that belong to no study: a trained arm, opened and asked.

Lives here: what an arm is asked with, which films are asked about, who writes, and which words weigh.
Nothing here trains or scores.
"""

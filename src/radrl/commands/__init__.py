"""The command `radrl`: labels and scores for any system's reports, without Kedro and without the study.

Not named `cli`: Kedro takes a package's module of that name for commands of its own.
"""

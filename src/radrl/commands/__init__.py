"""The command `radrl`: labels and scores for any system's reports; stages and studies, which DVC runs.

Not named `cli`: Kedro takes a package's module of that name for commands of its own.

Lives here: one module a subcommand of `radrl`, or two that belong together: its options, and what it prints.
The work is done by what it calls; kedro, mlflow and torch are not imported to show a help text.
"""

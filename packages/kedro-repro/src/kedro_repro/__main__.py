"""`python -m kedro_repro`: the commands without Kedro's own start, which takes a second."""

from kedro_repro.commands import group

group(prog_name="kedro repro")

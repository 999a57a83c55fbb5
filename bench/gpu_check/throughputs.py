"""What `radrl plan` may take of this card in place of its assumptions."""

from __future__ import annotations

from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.plan import calibration, shapes


def measure(setup: Setup, keep: Keep) -> None:
    """By key of throughputs.yml."""
    config = shapes.of_folder(setup.start()).config
    seconds = 0.5 if setup.twin else calibration.SECONDS
    keep({"measured": calibration.calibrated(config, str(setup.device), seconds)})

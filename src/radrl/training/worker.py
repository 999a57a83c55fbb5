"""The program that a launcher starts, once a process: `accelerate launch -m radrl.training.worker JOB`."""

from __future__ import annotations

import sys
from pathlib import Path

from radrl.process import importing
from radrl.process.children import end_with_parent

if __name__ == "__main__":
    importing.prepare()  # before what reads its switches is imported
    end_with_parent()
    from radrl.training import rank

    rank.run(Path(sys.argv[1]))

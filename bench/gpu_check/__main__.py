"""Says what is true on this machine's GPU: exactness, speed against stock TRL, memory, throughputs.

    make gpu-check                                    # 25 minutes; docs/bench/gpu.md, build/gpu_check.json
    python bench/gpu_check --only exactness,speed-8   # some parts
    python bench/gpu_check --minutes 10               # parts that no longer fit are left out, and say so
    python bench/gpu_check --twin --out build/gpu.md  # a few narrow layers on a CPU: proves the script alone
    python bench/gpu_check --write-throughputs        # and the plan's table gets this card's row
    python bench/gpu_check --render gpu_check.json    # the page of what a machine without a network found

Each part is a process of its own with its own limit of time. What it had found is in the JSON and on the page
though it fails, is killed, or a later one is. Nothing is asked of a network. Without a GPU the twin runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "src"))  # this source, whatever is installed
    from gpu_check.runner import main

    sys.exit(main())

"""`python bench/faults kills ...` and `python bench/faults edits ...`; each says with --help what it does."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = ("kills", "edits")

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        sys.exit(f"python bench/faults {{{','.join(NAMES)}}} ...")
    name = sys.argv.pop(1)
    import_module(f"faults.{name}").main()

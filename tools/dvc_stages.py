"""Write dvc.yaml from the Kedro pipelines and the catalog, or hold it to them.

    python tools/dvc_stages.py            write dvc.yaml
    python tools/dvc_stages.py --check    say what differs and exit 1 (a test does this)

A thin name for `kedro repro stages` (`kedro_repro.dvc_yaml`), which needs no Kedro session.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kedro_repro import dvc_yaml
from kedro_repro.project import load

ROOT = Path(__file__).resolve().parents[1]
DVC_FILE = ROOT / "dvc.yaml"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="compare only; exit 1 when dvc.yaml would change"
    )
    if not parser.parse_args().check:
        dvc_yaml.write(load(ROOT), DVC_FILE)
        return 0
    if changes := dvc_yaml.changes(load(ROOT), DVC_FILE):
        print("dvc.yaml has drifted; run `make stages`.", *changes, sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

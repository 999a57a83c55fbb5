"""Seconds that the record's digest of a large folder takes, by SHA-256 and by what DVC knows.

    python bench/tracking_digest.py --megabytes 1024 --write docs/bench/tracking_digest.md    # a minute

A folder of that size is written into a DVC project of its own, and each way is timed in a fresh process,
imports and all, as a stage pays for them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

FILES: Final = 16
SHA256: Final = "by_sha256(folder)"
KNOWN: Final = "ByDvc(Path.cwd())(folder)"
DVC: Final = "Repo('.').add('corpus')"
PROGRAM: Final = """
import json, time
from pathlib import Path
from radrl.process import importing
importing.go_offline()
folder, start = Path("corpus"), time.perf_counter()
from kedro_repro.dvc_digests import ByDvc, by_sha256
{also}
{first}
middle = time.perf_counter()
{then}
print(json.dumps([middle - start, time.perf_counter() - middle]))
"""


def seconds(project: Path, first: str, then: str = "") -> tuple[float, float]:
    """Seconds of two expressions, one after the other in a process of their own."""
    also = "from dvc.repo import Repo" if DVC in (first, then) else ""
    code = PROGRAM.format(first=first, then=then, also=also)
    environment = os.environ | {"DVC_SITE_CACHE_DIR": str(project / ".site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environment, check=True, capture_output=True, text=True
    )
    one, other = json.loads(done.stdout.splitlines()[-1])
    return one, other


def fill(project: Path, megabytes: int) -> None:
    """A DVC project with a folder of random bytes that nobody has hashed."""
    shutil.rmtree(project, ignore_errors=True)
    (project / "corpus").mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet"],
        cwd=project,
        env=os.environ | {"DVC_SITE_CACHE_DIR": str(project / ".site"), "DVC_NO_ANALYTICS": "1"},
        check=True,
    )
    for number in range(FILES):
        with (project / "corpus" / f"part-{number:05d}").open("wb") as stream:
            for _ in range(megabytes // FILES):
                stream.write(os.urandom(1 << 20))


def evict(folder: Path) -> None:
    """Put files out of the system's page cache."""
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(project: Path, megabytes: int) -> dict[str, float]:
    """One round: a folder that a stage writes and the next one reads, before and after."""
    fill(project, megabytes)
    found = {"written, before": seconds(project, SHA256)[0], "DVC, before": seconds(project, "", DVC)[1]}
    found["read, before"] = seconds(project, SHA256)[0]
    evict(project / "corpus")
    found["from disk, before"] = seconds(project, SHA256)[0]
    fill(project, megabytes)
    found["written, after"] = seconds(project, KNOWN)[0]
    found["DVC, after"] = seconds(project, "", DVC)[1]
    found["read, after"] = seconds(project, KNOWN)[0]
    evict(project / "corpus")
    found["from disk, after"] = seconds(project, KNOWN)[0]
    return found


def page(command: str, megabytes: int, rounds: int, found: Mapping[str, float]) -> str:
    """The figures in Markdown."""
    rows = [
        ("the record, of a folder the stage wrote", "written"),
        ("DVC, of the same folder, to record and cache it", "DVC"),
        ("the record, of that folder as a later stage reads it", "read"),
        ("the same where the page cache no longer holds it", "from disk"),
    ]
    size = f"{megabytes:,} MiB in {FILES} files; the median of {rounds} rounds"
    where = f"dvc {version('dvc')}, Python {platform.python_version()}, {os.cpu_count()} cores"
    lines = [
        "# bench/tracking_digest",
        "",
        f"Made by `{command}`: {size}; {where}, which other programs used too.",
        "",
        "| seconds of | SHA-256 of its own | DVC's digest, shared |",
        "|---|---|---|",
        *(f"| {said} | {found[f'{of}, before']:.2f} | {found[f'{of}, after']:.2f} |" for said, of in rows),
        "",
        "Imports and the opening of DVC's notes are in the record's figures.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help="a page of the docs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="radrl-digest-") as folder:
        rounds = [measure(Path(folder) / "project", asked.megabytes) for _ in range(asked.rounds)]
    found = {key: median(one[key] for one in rounds) for key in rounds[0]}
    command = f"python bench/tracking_digest.py --megabytes {asked.megabytes} --rounds {asked.rounds}"
    text = page(command, asked.megabytes, asked.rounds, found)
    print(text)
    if asked.write:
        asked.write.write_text(text)


if __name__ == "__main__":
    main()

"""Count what the phantom reports state: ``python tools/phantom_census.py --studies 2000 --seed 0``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from radrl.data.sources.phantom import read
from radrl.data.study import Record
from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN

_SMALLEST_FILM = 32  # the films are not looked at


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the census of a drawn training split."""
    parser = argparse.ArgumentParser(description="Count what phantom reports state.")
    parser.add_argument("--studies", type=int, default=2000, help="number of studies (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the studies (default 0)")
    parser.add_argument(
        "--params", type=Path, help="count the films of a params file (default: those of read() as it is)"
    )
    options = parser.parse_args(arguments)
    own = section_of(options.params) if options.params else {}
    counted = {"seed": options.seed, "studies": {"train": options.studies}, "image_size": _SMALLEST_FILM}
    print(census(read(**{**own, **counted})))


def section_of(path: Path) -> Mapping[str, Any]:
    """The section `ingest.phantom` of a params file.

    Args:
        path: the file.

    Raises:
        SystemExit: when it has none.
    """
    try:
        section: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["ingest"]["phantom"]
    except (KeyError, TypeError):
        raise SystemExit(
            f"{path} has no section ingest.phantom; name a file that has one, such as params.yaml"
        ) from None
    return section


def census(records: Iterable[Record]) -> str:
    """Tabulate the gold labels and the words of a source's studies.

    Args:
        records: films with gold labels; each study counts once.

    Returns:
        A Markdown table of shares of studies, and a line on patients and words.

    Raises:
        ValueError: for a record without gold labels.
    """
    studies = {record.study_id: record for record in records}
    if bare := [record.key for record in studies.values() if record.gold is None]:
        raise ValueError(f"{bare[0]} has no gold labels; a census needs a source that gives them")
    gold = np.array([record.gold for record in studies.values()])
    lines = ["| observation | positive | uncertain | negative |", "|---|---|---|---|"]
    for index, name in enumerate(OBSERVATIONS):
        shares = (np.mean(gold[:, index] == value) for value in (POSITIVE, UNCERTAIN, NEGATIVE))
        lines.append(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    words = [len(record.findings.split()) for record in studies.values() if record.findings]
    low, middle, high = np.percentile(words, [10, 50, 90])
    patients = len({record.patient_id for record in studies.values()})
    lines += [
        "",
        f"{len(studies)} studies of {patients} patients; words in the findings: median {middle:.0f}, "
        f"10th to 90th percentile {low:.0f} to {high:.0f}.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

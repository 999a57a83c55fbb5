"""The arms' tables side by side, over the same films."""

from __future__ import annotations

import hashlib

import pandas as pd

ArmTables = dict[str, pd.DataFrame]
"""A table by arm."""


def gather_reports(**per_report: pd.DataFrame) -> ArmTables:
    """Put the arms' reports side by side, in the same order of films.

    Args:
        per_report: by arm, its reports with labels and scores.

    Returns:
        The same, each in the order of the first arm's films.

    Raises:
        ValueError: when an arm has other films or other references than the first one, naming a film.
    """
    first, base = next(iter(per_report.items()))
    together: ArmTables = {}
    for arm, frame in per_report.items():
        _require_same_films(first, base["sample_id"], arm, frame["sample_id"])
        ordered = frame.set_index("sample_id").loc[base["sample_id"]].reset_index()
        changed = ordered["reference"] != base["reference"].reset_index(drop=True)
        if changed.any():
            film = ordered.loc[changed, "sample_id"].iloc[0]
            raise ValueError(
                f"arms {first!r} and {arm!r} have other references for film {film}; run eval again for both"
            )
        together[arm] = ordered
    return together


def gather_histories(**histories: pd.DataFrame) -> ArmTables:
    """The training curves of the arms that trained.

    Args:
        histories: by arm, its curve; without rows where the arm did not train.

    Returns:
        Those with rows.
    """
    return {arm: history for arm, history in histories.items() if len(history)}


def films_digest(films: pd.DataFrame) -> str:
    """A digest of what was scored: ids, patients and references of the films, in the order of ids.

    Args:
        films: any arm's reports.

    Returns:
        Twelve hexadecimal digits of SHA-256.
    """
    columns = ["sample_id", "patient_id", "reference"]
    digest = hashlib.sha256()
    for row in films[columns].sort_values("sample_id").itertuples(index=False):
        digest.update("\x1f".join(map(str, row)).encode() + b"\x1e")
    return digest.hexdigest()[:12]


def _require_same_films(first: str, known: pd.Series, arm: str, films: pd.Series) -> None:
    if not films.is_unique:
        raise ValueError(
            f"arm {arm!r} has film {films[films.duplicated()].iloc[0]} twice; run generate again for it"
        )
    lacking, extra = sorted({*known} - {*films}), sorted({*films} - {*known})
    if lacking or extra:
        raise ValueError(
            f"arms {first!r} and {arm!r} were scored on other films: {arm!r} lacks {len(lacking)} "
            f"and has {len(extra)} more, such as {(lacking or extra)[0]}; run generate and eval for both"
        )

"""What is said where there are too few patients for a test, or too few updates for a training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd

from radrl.evaluation.paired import FEWEST_PATIENTS, enough

WANTED: Final = f"too few for a test of films, which wants {FEWEST_PATIENTS}"

FEWEST_UPDATES: Final = 10
"""So many has the shortest training of a recipe (conf/recipes/deer-iu_xray-zeroshot.yaml, a pass over few
films). With fewer, as in conf/smoke, a policy is about what it started from."""


def too_short(updates: Iterable[int]) -> str:
    """What stands above the figures of trainings that were none.

    Args:
        updates: of each arm; 0 of one that does not train.

    Returns:
        A sentence; empty where an arm trained for `FEWEST_UPDATES`, or none trained.
    """
    most = max(updates, default=0)
    if not 0 < most < FEWEST_UPDATES:
        return ""
    had = f"{most} update{'' if most == 1 else 's'} an arm"
    return f"{had}: this shows that the machinery runs; its figures mean nothing."


def too_few(comparison: pd.DataFrame) -> str:
    """Why differences from the reference arm have no p.

    Args:
        comparison: a line a row and metric, of `radrl.pipelines.compare.rows.tabulate`.

    Returns:
        A sentence; empty where the patients are enough on every metric, or nothing is tested.
    """
    tested = comparison[(comparison["kind"] == "arm") & comparison["difference"].notna()]
    few = tested[[not enough(int(patients)) for patients in tested["patients"]]]
    if few.empty:
        return ""
    metrics = list(dict.fromkeys(few["metric"]))
    among = "" if len(few) == len(tested) else f" on {', '.join(metrics)}"
    return f"{counted(int(few['patients'].min()))}{among}: {WANTED}, so no difference has a mark or a p."


def counted(patients: int) -> str:
    """So many patients, in words."""
    return f"{patients} patient{'' if patients == 1 else 's'}"

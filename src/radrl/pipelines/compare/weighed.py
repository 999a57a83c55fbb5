"""What the films' weighted_findings come from, as the stage eval kept it, for the page's cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

LINES: Final = "weighted_findings_lines"
"""Column of the stage eval's table; named here too, so that the page's digest does not count the metric."""

Weighed = dict[str, dict[str, list[dict[str, Any]]]]
"""By arm and sample_id, a row a finding."""


def weighed_of(arm_reports: Mapping[str, pd.DataFrame], shown: Sequence[str]) -> Weighed:
    """What each finding of the reports that are shown costs.

    Args:
        arm_reports: by arm, its reports as the stage eval scored them.
        shown: sample_ids.

    Returns:
        Of the arms that were scored so, for each of these reports the rows of
        `radrl.scoring.weighted_findings.explain.rows`, what costs most first; nothing where
        ``weighted_findings`` is not among `eval.families`.
    """
    return {
        arm: {
            sample: sorted(lines, key=lambda row: (-row["cost"], row["finding"]))
            for sample, lines in frame.set_index("sample_id").loc[list(shown), LINES].items()
        }
        for arm, frame in arm_reports.items()
        if LINES in frame
    }

"""The picture of all claims, on made-up verdicts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from radrl.pages.figures import png
from radrl.studies.claims.figure import LOOKS, PAPERS_OWN, forest
from radrl.studies.claims.verdict import Verdict


def hypothesis(where: str, claim: str, difference: float, verdict: Verdict, **changed: Any) -> dict[str, Any]:
    given = {"study": "study-trial", "where": where, "claim": claim, "run": None, "arm": "deer"}
    given |= {"over_run": None, "over": "grpo", "metric": "ce_rules_sample14_f1", "expects": "more"}
    given |= {"margin": 0.01, "difference": difference, "difference_low": difference - 0.01}
    given |= {"difference_high": difference + 0.01, "verdict": verdict.value, "paper_difference": None}
    return given | changed


@pytest.fixture
def found() -> pd.DataFrame:
    return pd.DataFrame(
        [
            hypothesis("OraPO", "OraPO is above GRPO", 0.002, Verdict.OPEN, arm="orapo"),
            hypothesis("OraPO", "OraPO is above SFT", -0.001, Verdict.STOPPED_EARLY, arm="orapo"),
            hypothesis(
                "DEER, table 4", "DEER is above GRPO", 0.04, Verdict.SUPPORTED, paper_difference=0.045
            ),
            hypothesis(
                "DEER, table 4", "DEER is above GRPO", -0.03, Verdict.CONTRADICTED, metric="nlg_bleu4"
            ),
            hypothesis(
                "DEER, figure 1", "A fifth does", 0.01, Verdict.SUPPORTED, expects="as_much", margin=0.02
            ),
        ]
    )


def marks(lines: list[Line2D]) -> list[tuple[str, float, float]]:
    return [
        (str(line.get_marker()), line.get_xdata()[0], line.get_ydata()[0])
        for line in lines
        if len(line.get_xdata()) == 1
    ]


def test_claims_stand_below_their_paper(found: pd.DataFrame) -> None:
    (panel,) = forest(found).axes
    said = {text.get_text(): text.get_position()[1] for text in panel.texts}
    papers = ["DEER", "OraPO"]
    assert [text.get_text() for text in panel.texts if text.get_fontweight() == "bold"] == papers
    assert (
        said["DEER"] < said["DEER is above GRPO (table 4)"] < said["A fifth does (figure 1)"] < said["OraPO"]
    )
    assert said["OraPO"] < said["OraPO is above GRPO"]
    assert said["+0.040 (+0.030 to +0.050)"] == said["DEER is above GRPO (table 4)"]
    assert said["nlg_bleu4"] == said["-0.030 (-0.040 to -0.020)"] == said["+0.040 (+0.030 to +0.050)"] + 1


def test_a_verdict_is_told_by_colour_and_by_marker(found: pd.DataFrame) -> None:
    (panel,) = forest(found).axes
    colours, markers = zip(*LOOKS.values(), strict=True)
    assert len({*colours}) == len({*markers}) == len(Verdict) == 4
    supported, contradicted, open_, stopped = (LOOKS[verdict] for verdict in Verdict)
    assert [(mark, x) for mark, x, _ in marks(panel.lines)] == [
        (supported[1], 0.04),
        (PAPERS_OWN[1], 0.045),
        (contradicted[1], -0.03),
        (supported[1], 0.01),
        (open_[1], 0.002),
        (stopped[1], -0.001),
    ]
    paper = next(line for line in panel.lines if line.get_marker() == PAPERS_OWN[1])
    assert paper.get_markerfacecolor() == "none"
    assert to_hex(paper.get_markeredgecolor()) == PAPERS_OWN[0].lower()


def test_the_least_that_matters_stands_where_the_verdict_turns(found: pd.DataFrame) -> None:
    (panel,) = forest(found).axes
    assert [line.get_xdata()[0] for line in panel.lines if _is_tick(line)] == [0.01, 0.01, -0.02, 0.01, 0.01]


def _is_tick(line: Line2D) -> bool:
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == 2 and x[0] == x[1] and y[1] - y[0] == pytest.approx(0.76)


def test_what_lies_beyond_the_scale_is_an_arrow_at_its_edge(found: pd.DataFrame) -> None:
    far = [hypothesis("DEER, table 1", f"{i}", 0.03, Verdict.SUPPORTED) for i in range(20)]
    far[3] |= {"difference": -0.4, "difference_low": -0.5, "difference_high": -0.3}
    (panel,) = forest(pd.DataFrame(far)).axes
    edge = panel.get_xlim()[1]
    assert edge < 0.1
    (arrow,) = [x for mark, x, _ in marks(panel.lines) if mark == "<"]
    assert arrow == pytest.approx(-edge)
    assert "-0.400 (-0.500 to -0.300)" in [text.get_text() for text in panel.texts]


@pytest.mark.parametrize(
    "longest",
    ["ce_rules_micro14_precision_uncertain_pos", "masking_chexbert_compact_label_modification_ratio"],
)
def test_sixty_lines_do_not_lie_on_one_another(longest: str) -> None:
    verdicts = [*Verdict] * 15
    many = [
        hypothesis(f"DEER, table {i % 7}", "word " * (5 + 2 * (i % 9)), 0.01, own, metric=longest)
        for i, own in enumerate(verdicts)
    ]
    figure = forest(pd.DataFrame(many))
    (panel,) = figure.axes
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in panel.texts]
    for i, box in enumerate(boxes):
        assert all(not _covers(box, other) for other in boxes[i + 1 :])
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= figure.bbox.width


def _covers(one: Any, other: Any) -> bool:
    """Whether two boxes share more than a line of points."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    return bool(across > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 1.5)


def test_the_pictures_bytes_are_the_same_each_time(found: pd.DataFrame) -> None:
    content = png(forest(found))
    assert content.startswith(b"\x89PNG")
    assert content == png(forest(found))

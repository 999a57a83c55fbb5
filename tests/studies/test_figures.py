"""A study's pictures on made-up numbers: what stands where, and that they are the same each time."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from PIL import Image

from radrl.pages.colours import APART
from radrl.pages.figures import png, style
from radrl.studies import figures, pictures
from radrl.studies.curves import averaged
from radrl.studies.page import Described

METRICS = ["f1", "bleu"]
LOOKS = ("sample14_f1", "macro14_f1", "f1/Pneumonia", "f1/Fracture")

COLOUR_BLIND = {  # Machado et al. (2009), severity 1, on linear RGB
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
XYZ = np.array([(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9503)])


def lab(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    at = XYZ @ np.clip(linear, 0, 1) / (0.9505, 1.0, 1.0889)
    f = np.where(at > 0.008856, np.cbrt(at), 7.787 * at + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", COLOUR_BLIND)
def test_colour_blind_eyes_tell_the_lines_apart(eyes: str) -> None:
    seen = []
    for colour in APART:
        channel = np.array(to_rgb(colour))
        linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
        seen.append(lab(np.array(COLOUR_BLIND[eyes]) @ linear))
    # the pages' own ten colours are 2 apart at the least, of which 2.3 can just be noticed
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def test_neighbouring_lines_differ_in_more_than_colour() -> None:
    looks = [style(i) for i in range(40)]
    assert len({*looks}) == 40
    assert all(a.dash != b.dash and a.marker != b.marker for a, b in itertools.pairwise(looks))


def panels(figure: Figure) -> dict[str, Axes]:
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


def of_size(content: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(content)) as image:
        assert len(image.convert("L").getcolors(256) or ()) > 5
        return image.size


def test_rows_are_sorted_by_the_first_metric(rows: pd.DataFrame) -> None:
    drawn = figures.rows(rows, METRICS, "sft", 0.95)
    f1, bleu = (panels(drawn)[metric] for metric in METRICS)
    # means of f1: 0.42, 0.35, 0.32, 0.317; the references' own row is left out
    assert [text.get_text() for text in f1.get_yticklabels()] == ["grpo", "constant", "sft", "dpo"]
    marks = {line.get_marker(): [*line.get_xdata()] for line in f1.lines if len(line.get_xdata()) == 1}
    assert marks["o"] == pytest.approx([0.31667], abs=1e-4)  # the last arm drawn
    assert marks["D"] == pytest.approx([0.32])  # the reference
    assert marks["s"] == pytest.approx([0.35])  # the row without a model
    assert [text.get_text() for text in bleu.get_yticklabels()] == [""] * 4
    assert bleu.get_ylim() == f1.get_ylim()


def test_every_seed_is_a_dot_and_the_bar_is_their_spread(rows: pd.DataFrame) -> None:
    axes = panels(figures.rows(rows, METRICS, "sft", 0.95))["f1"]
    bar, dots = axes.lines[0], axes.lines[1]  # the best row is drawn first: 0.40, 0.43, 0.43
    assert bar.get_xdata() == pytest.approx([0.42 - 0.01732, 0.42 + 0.01732], abs=1e-4)
    assert sorted(dots.get_xdata()) == [0.40, 0.43, 0.43]


def test_one_seed_has_a_mark_alone(rows: pd.DataFrame) -> None:
    axes = panels(figures.rows(rows[rows["seed"] == 0], METRICS, "sft", 0.95))["f1"]
    assert len(axes.lines) == 5  # four marks and the line of the reference


def test_a_row_without_a_model_that_all_runs_share_stands_once(rows: pd.DataFrame) -> None:
    both = pd.concat([rows.assign(run="few"), rows.assign(run="all")])
    axes = panels(figures.rows(both, METRICS, "sft", 0.95))["f1"]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(names) == ["all.dpo", "all.grpo", "all.sft", "constant", "few.dpo", "few.grpo", "few.sft"]


def made_curves(arms: Sequence[str], runs: Sequence[str] = ("",), seeds: int = 2) -> pd.DataFrame:
    """Ten steps of every arm: the reward is number of arm plus seed, tenths, every look 0.1 a step."""

    def table(level: float) -> pd.DataFrame:
        steps = pd.Series(range(11), dtype=float)
        look = steps.where(steps % 5 == 0) / 10
        watched = {f"watch/ce_rules_{name}": look for name in LOOKS}
        stepwise = dict.fromkeys(("reward", "groups/zero_reward_share"), level + 0 * steps)
        findings = {"watch/findings_per_report": look, "watch/findings_per_reference": 1.5 + 0 * look}
        return pd.DataFrame({"step": range(11), **stepwise, **watched, **findings})

    histories = {
        (run, seed): {arm: table((i + seed) / 10) for i, arm in enumerate(arms)}
        for run in runs
        for seed in range(seeds)
    }
    return averaged(histories, [])


def test_a_curve_is_the_mean_with_a_band_of_the_spread() -> None:
    drawn = panels(figures.training(made_curves(["grpo", "deer"])))
    reward = drawn["reward, each arm's own"]
    assert [line.get_ydata().tolist() for line in reward.lines] == [
        pytest.approx([0.05] * 3),
        pytest.approx([0.15] * 3),
    ]
    band = reward.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (
        pytest.approx(0.05 - 0.1 / 8**0.5 * 2),
        pytest.approx(0.05 + 0.1 / 2**0.5),
    )
    assert [to_hex(line.get_color()) for line in reward.lines] == [colour.lower() for colour in APART[:2]]
    findings = drawn["findings a report, watched films; dotted: the references'"]
    assert findings.lines[-1].get_ydata() == [1.5, 1.5]


def test_the_band_of_a_share_ends_where_shares_do() -> None:
    curves = made_curves(["grpo"])
    curves.loc[curves["what"] == "groups/zero_reward_share", ["mean", "sd"]] = [0.05, 0.2]
    axes = panels(figures.rare(curves, [("", "grpo")]))["rollouts whose clinical reward is 0"]
    assert axes.collections[0].get_paths()[0].vertices[:, 1].min() == 0


def test_points_of_fewer_seeds_are_left_out() -> None:
    curves = made_curves(["grpo"])
    curves.loc[(curves["what"] == "reward") & (curves["step"] == 10), "seeds"] = 1
    axes = panels(figures.training(curves))["reward, each arm's own"]
    assert axes.lines[0].get_xdata().tolist() == [0, 5]


def test_many_lines_get_a_row_of_panels_a_run() -> None:
    arms = [f"arm{i}" for i in range(8)]
    together = figures.training(made_curves(arms[:7], ["few", "all"]))
    apart = figures.training(made_curves(arms, ["few", "all"]))
    assert len(together.axes) == 4
    assert len(together.axes[0].lines) == 14
    assert len(apart.axes) == 8
    assert [len(axes.lines) for axes in apart.axes[::4]] == [8, 8]
    assert apart.axes[4].get_title(loc="left") == "all: reward, each arm's own"
    assert [text.get_text() for text in apart.legends[0].get_texts()] == arms


def test_figure_2_shows_the_chosen_arms_in_the_looks_they_have_elsewhere() -> None:
    drawn = panels(figures.rare(made_curves(["grpo", "deer", "orapo"]), [("", "grpo"), ("", "orapo")]))
    assert [*drawn] == [
        "rollouts whose clinical reward is 0",
        "F1 Pneumonia, watched films",
        "F1 Fracture, watched films",
    ]
    lines = drawn["F1 Fracture, watched films"].lines
    assert [line.get_marker() for line in lines] == [style(0).marker, style(2).marker]
    assert lines[0].get_ydata().tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_the_pictures_bytes_are_the_same_each_time(rows: pd.DataFrame) -> None:
    curves = made_curves(["grpo", "deer"])
    for draw in (
        lambda: figures.rows(rows, METRICS, "sft", 0.95),
        lambda: figures.training(curves),
        lambda: figures.rare(curves, [("", "grpo")]),
    ):
        content = png(draw())
        assert content == png(draw())
        assert min(of_size(content)) > 150


def test_a_studys_pictures_are_named_after_its_page(
    rows: pd.DataFrame, described: Callable[..., Described]
) -> None:
    drawn = pictures.draw(rows, made_curves(["grpo"]), {}, described(), stem="trial")
    assert [one.name for one in drawn] == ["trial.png", "trial-curves.png"]
    text = "\n".join(pictures.section(drawn))
    assert "![Training curves](trial-curves.png)" in text
    (alone,) = pictures.draw(rows, made_curves([]), {}, described(), stem="trial")
    assert alone.name == "trial.png"

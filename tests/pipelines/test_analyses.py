"""Masking, diversity of rewards and drawn weights, on hand-made rollouts and an untrained CheXbert."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import yaml

from radrl.credit.base import Rollouts
from radrl.evaluation import paired
from radrl.evaluation.paired import tabulate_with_tests
from radrl.params.messages import ParamsError
from radrl.params.schema import validate
from radrl.pipelines.analyses import groups, masking, page, rewards, table
from radrl.pipelines.analyses.groups import AnalysisSettings
from radrl.pipelines.analyses.nodes import (
    draw_analyses,
    draw_pools,
    mask_tokens,
    measure_rewards,
    settle_analyses,
    write_token_weights,
)
from radrl.pipelines.label import label_reports

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
BOOTSTRAP = {"resamples": 50, "confidence": 0.95}
SUMMARY = {"drawn": True, "source": "phantom"}
CLEAR, EFFUSION, EDEMA = "The lungs are clear.", "There is a pleural effusion.", "There is edema."
FILMS = 8
F1 = {"uncertain_as_positive": False, "both_empty": 1.0}


READERS = ("rules", "chexbert_compact")


def settled(analyses: dict[str, Any], readers: Sequence[str] = READERS) -> AnalysisSettings:
    """What the first node of the stage puts together."""
    return settle_analyses(analyses, BOOTSTRAP, LABELER, [*readers], seed=0, threads=1, device="cpu")


@pytest.fixture
def settings(root: Path) -> dict[str, Any]:
    """The shipped section, with fewer films."""
    own: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())["analyses"]
    own["masking"]["films"], own["examples"] = 6, 3
    return own


@pytest.fixture
def corpus(make_corpus: Callable[..., ds.Dataset]) -> ds.Dataset:
    return make_corpus(["train", "test"], studies=FILMS)


@pytest.fixture
def rollouts() -> ds.Dataset:
    said = [CLEAR, f"{EFFUSION} {CLEAR}", EDEMA]
    rows = [
        {"sample_id": f"train{i}_1", "rollout": k, "report": said[(i * k) % 3]}
        for i in range(FILMS)
        for k in range(3)
    ]
    return ds.dataset(pa.Table.from_pylist(rows))


@pytest.fixture
def results(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "conf/base/published_results.csv")


@pytest.fixture
def mask(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    policy_folder: Path,
    models: Path,
    results: pd.DataFrame,
    settings: dict[str, Any],
) -> Callable[..., pd.DataFrame]:
    def run(readers: Sequence[str] = READERS, **changed: Any) -> pd.DataFrame:
        inputs: dict[str, Any] = {
            "rollouts": rollouts,
            "corpus": corpus,
            "start": policy_folder,
            "labeler_models": models,
            "published": results,
            "ingest_summary": SUMMARY,
        }
        return mask_tokens(**inputs | changed, settings=settled(settings, readers))

    return run


@pytest.fixture
def measure(
    rollouts: ds.Dataset, corpus: ds.Dataset, results: pd.DataFrame, settings: dict[str, Any]
) -> Callable[..., pd.DataFrame]:
    def run() -> pd.DataFrame:
        own = settled(settings)
        pools = draw_pools(
            rollouts,
            subset_random=pd.DataFrame({"sample_id": ["train0_1", "train3_1", "train1_1"]}),
            subset_ddsampling=pd.DataFrame({"sample_id": ["train2_1", "train1_1", "train4_1"]}),
            subset_most_diverse=pd.DataFrame({"sample_id": ["train1_1", "train2_1", "train5_1"]}),
            settings=own,
        )
        return measure_rewards(rollouts, corpus, pools, Path(), results, SUMMARY, own)

    return run


class ByWord:
    """A labeler: the first observation is positive where the word is said."""

    name = "by_word"

    def label(self, reports: Any) -> Any:
        labels = np.zeros((len(reports), 14), np.int8)
        labels[:, 0] = ["edema" in report for report in reports]
        return labels


def test_masking_by_hand() -> None:
    # two films of two rollouts; of film 1 both reports lose their label, of film 2 one of two
    tokens = Rollouts([], ["edema", "edema", "edema", "edema"], [], list("aabb"), 2)
    texts = {"random": ["edema"] * 4, "tf_idf": ["[MASK]", "[MASK]", "edema", ""]}
    found = masking.rows(ByWord(), tokens, texts, unit="report", f1=F1)
    assert found["random"].values() == {"label_modification_ratio": 0, "post_masking_f1": 1}
    assert found["tf_idf"].values() == {"label_modification_ratio": 0.75, "post_masking_f1": 0.25}
    assert len(found["tf_idf"].per_study) == 2  # films, which belong to patients
    by_label = masking.rows(ByWord(), tokens, texts, unit="label", f1=F1)
    assert by_label["tf_idf"].values()["label_modification_ratio"] == pytest.approx(0.75 / 14)


def test_masking_has_a_line_a_labeler_strategy_and_metric(
    mask: Callable[..., pd.DataFrame],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paired, "FEWEST_PATIENTS", 6)  # there are no more here
    table = mask()
    assert [*zip(table["labeler"], table["strategy"], table["metric"], strict=True)] == [
        (labeler, strategy, metric)
        for labeler in ("rules", "chexbert_compact")
        for strategy in ("random", "tf_idf", "gradient")
        for metric in masking.METRICS
    ]
    assert {*table["films"]} == {6}
    assert {*table["rollouts"]} == {18}
    assert table["value"].between(table["low"], table["high"]).all()
    assert table.loc[table["strategy"] == "random", "p"].isna().all()
    assert table.loc[table["strategy"] != "random", "p_holm"].between(0, 1).all()
    said = capsys.readouterr().out
    assert "0.327" in said  # DEER's gradient row
    assert "They say nothing about" in said
    pd.testing.assert_frame_equal(mask(), table)


def test_strategies_without_a_model_are_left_out_by_name(
    mask: Callable[..., pd.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = mask(
        labeler_models=tmp_path / "none", readers=["rules"], ingest_summary=SUMMARY | {"drawn": False}
    )
    assert {*table["strategy"]} == {"random", "tf_idf"}
    said = " ".join(capsys.readouterr().out.split())
    assert "gradient is left out: there is no model of chexbert_compact: set labeler.compact" in said
    assert "say nothing about" not in said


def test_no_weights_at_all_are_refused(mask: Callable[..., pd.DataFrame], settings: dict[str, Any]) -> None:
    settings["credit"] = {"tf_idf": None, "gradient": None}
    with pytest.raises(ValueError, match=r"no credit weighs tokens: analyses\.credit\.tf_idf is null"):
        mask()


def test_weights_are_those_of_the_papers_equations(
    rollouts: ds.Dataset, corpus: ds.Dataset, policy_folder: Path, models: Path, settings: dict[str, Any]
) -> None:
    from radrl.labelers import build

    frame = groups.read(rollouts, corpus, ["train2_1", "train1_1"])
    assert frame["sample_id"].tolist() == ["train2_1"] * 3 + ["train1_1"] * 3
    tokens, weights, absent = groups.weigh(
        frame, policy_folder, settings["credit"], lambda name: build(LABELER, models, name=name)
    )
    assert (tokens.group, absent) == (3, {})
    assert tokens.outputs == frame["report"].tolist()
    # DEER, eq. 7 and 8 at alpha = 4: 1 + 4 n / L ln(N / d), of the 3 rollouts of each film by themselves
    for film in (slice(0, 3), slice(3, 6)):
        said = tokens.ids[film]
        for ids, found in zip(said, weights["tf_idf"].values[film], strict=True):
            holders = [sum(token in other for other in said) for token in ids]
            hand = [
                1 + 4 * ids.count(token) / len(ids) * math.log(3 / d)
                for token, d in zip(ids, holders, strict=True)
            ]
            assert found == pytest.approx(hand)
    # of the 6 tokens of "There is edema." all rollouts have the first and the last, it alone has one
    edema = weights["tf_idf"].values[1]
    assert tokens.outputs[1] == EDEMA
    assert edema[[0, -1]].tolist() == [1, 1]
    assert edema.max() == pytest.approx(1 + 4 / 6 * 1.098612)  # ln 3
    # eq. 12 at beta = 1, scaled to the report's largest saliency: that token weighs 2, and none less than 1
    for own in weights["gradient"].values:
        assert own.max() == pytest.approx(2)
        assert own.min() >= 1


def test_the_shipped_weights_are_those_of_the_shipped_arms(root: Path) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    assert values["arms"]["deer"]["credit"] == {"gradient": values["analyses"]["credit"]["gradient"]}
    own = values["arms"]["grpo"]["reward"]["ce_f1"]
    assert values["analyses"]["f1"] == {key: own[key] for key in ("uncertain_as_positive", "both_empty")}


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("masking", "share", 0.0), ("masking", "unit", "word"), ("reward_diversity", "std", "robust")],
)
def test_wrong_settings_are_refused_by_their_key(root: Path, section: str, key: str, value: Any) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    values["analyses"][section][key] = value
    with pytest.raises(ParamsError, match=rf"analyses\.{section}\.{key}"):
        validate(values)


def test_rewards_by_hand() -> None:
    scores = np.array([[0, 0], [0, 1], [1, 1], [0.5, 1]], float)
    pools = {"full": list("abcd"), "random": ["a", "b"], "ddsampling": ["b", "d"]}
    found = rewards.by_pool(scores, list("abcd"), pools, std="population")
    assert found["full"].values() == {
        "zero_variance_ratio": 0.5,
        "unique_rewards": 1.5,
        "mean_reward_std": 0.1875,
    }
    assert found["random"].values()["mean_reward_std"] == 0.25
    assert found["ddsampling"].values() == {
        "zero_variance_ratio": 0,
        "unique_rewards": 2,
        "mean_reward_std": 0.375,
    }


def test_pools_that_differ_are_told_apart_and_equal_ones_are_not() -> None:
    films = [f"f{i}" for i in range(60)]
    scores = np.array([[0, i % 2 or i >= 30] for i in range(60)], float)
    pools = {"random": films[:30], "ddsampling": films[30:], "same": films[:30]}
    found = tabulate_with_tests(
        rewards.by_pool(scores, films, pools, std="population"),
        films,
        reference="random",
        tested=["ddsampling", "same"],
        bootstrap={"resamples": 200, "confidence": 0.95},
        seed=0,
    )
    p = {line["row"]: line.get("p_holm") for line in found if line["metric"] == "zero_variance_ratio"}
    assert p["ddsampling"] < 0.05
    assert p["same"] == 1


def test_rewards_of_the_pools(
    measure: Callable[..., pd.DataFrame], settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    table = measure()
    assert table.drop_duplicates("pool").set_index("pool")["films"].to_dict() == {
        "full": 8,
        "random": 3,
        "ddsampling": 3,
        "most_diverse": 3,
    }
    value = table.set_index(["pool", "metric"])["value"]
    # films 0, 3 and 6 have three times the same rollout
    assert value["full", "zero_variance_ratio"] >= 3 / 8
    assert value["random", "zero_variance_ratio"] >= 2 / 3
    assert value["most_diverse", "zero_variance_ratio"] == 0  # films 1, 2 and 5
    assert table.loc[table["pool"].isin(["full", "random"]), "p"].isna().all()
    assert "0.355" in capsys.readouterr().out
    settings["reward_diversity"]["films"] = 2
    assert {*measure()["films"]} == {2}


def test_rollouts_of_other_films_are_refused(corpus: ds.Dataset, rollouts: ds.Dataset) -> None:
    strange = ds.dataset(pa.table({"sample_id": ["x", "x"], "rollout": [0, 1], "report": ["", ""]}))
    with pytest.raises(ValueError, match="film x has rollouts but is no training film"):
        groups.read(strange, corpus, ["x"])
    cut = ds.dataset(rollouts.to_table().slice(1))
    with pytest.raises(ValueError, match="films have 2 to 3 rollouts; run the stage rollouts again"):
        groups.read(cut, corpus, ["train0_1", "train1_1"])


def test_figure_has_a_panel_a_metric(
    mask: Callable[..., pd.DataFrame], measure: Callable[..., pd.DataFrame], results: pd.DataFrame
) -> None:
    figure = draw_analyses(mask(), measure(), results, SUMMARY)
    titles = [axes.get_title(loc="left") for part in figure.subfigs for axes in part.axes]
    assert len(titles) == len({*titles}) == 5
    assert table.deer(results, 7, "DDSampling (20%)", "unique_rewards") == 3.6
    assert table.deer(results, 7, None, "unique_rewards") is None


def test_pieces_are_the_report_coloured_by_hand() -> None:
    spans = np.array([[0, 3], [3, 9], [9, 10], [10, 10]])
    found = page.pieces("The heart.", spans, np.array([1, 1.5, 3, 1]), np.array([0, 1, 0, 0], bool), top=2.0)
    assert found == [
        page.Piece("The", 1.0, 0.0, False),
        page.Piece(" ", None, 0.0, False),
        page.Piece("heart", 1.5, page.STRONGEST / 2, True),
        page.Piece(".", 3.0, page.STRONGEST, False),
    ]


@pytest.fixture
def write(
    rollouts: ds.Dataset, corpus: ds.Dataset, policy_folder: Path, models: Path, settings: dict[str, Any]
) -> Callable[..., str]:
    def run(**changed: Any) -> str:
        inputs: dict[str, Any] = {
            "rollouts": rollouts,
            "corpus": corpus,
            "labels": label_reports(corpus, models, LABELER),
            "start": policy_folder,
            "labeler_models": models,
            "ingest_summary": SUMMARY,
        }
        return write_token_weights(**inputs | changed, settings=settled(settings))

    return run


class Texts(HTMLParser):
    """The paragraphs of class text, and what the page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.loads: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        own = dict(attributes)
        self.loads += [value for name in ("src", "href") if (value := own.get(name))]
        if tag == "p":
            self.inside = own.get("class") == "text"
            self.texts += [""] * self.inside

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "p"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data


def test_page_shows_reference_and_rollout_whole_and_needs_nothing_else(write: Callable[..., str]) -> None:
    text = write()
    parser = Texts()
    parser.feed(text)
    assert all(load.startswith("data:image/png;base64,") for load in parser.loads)
    assert len(parser.loads) == 3
    shown = [parser.texts[i : i + 3] for i in range(0, 9, 3)]
    assert all(by_rule == by_gradient == CLEAR for _, by_rule, by_gradient in shown)  # rollout 0
    assert "Drawn films" in text
    assert re.search(r'<li style="background:rgb\(var\(--heat\) / 0\.620\)">≥ \d', text)
    assert write() == text


def test_page_without_gradients_or_films_says_so(
    write: Callable[..., str], settings: dict[str, Any], corpus: ds.Dataset, tmp_path: Path
) -> None:
    text = write(labeler_models=tmp_path / "none", labels=label_reports(corpus, Path(), LABELER))
    assert "Gradient is left out: there is no model of chexbert_compact" in text
    assert "weights by Gradient" not in text
    settings["examples"] = 0
    assert "No film is shown" in write()
    patients = write(ingest_summary={"drawn": False, "source": "mimic_cxr"})
    assert "may not be passed on" in patients


def test_the_page_of_patients_films_stays_out_of_the_record(root: Path) -> None:
    catalog = yaml.safe_load((root / "conf/base/catalog.yml").read_text().replace("${globals:data}", "data"))
    assert catalog["token_weights_page"]["metadata"]["mlflow"] == "artifact of drawn films"

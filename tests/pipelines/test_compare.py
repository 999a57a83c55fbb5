"""The stage compare on hand-made reports."""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import browser
import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import yaml
from click.testing import CliRunner
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, MemoryDataset
from kedro.runner import SequentialRunner
from kedro_datasets.matplotlib import MatplotlibDataset
from kedro_datasets.pandas import CSVDataset
from matplotlib.axes import Axes
from PIL import Image

from kedro_repro import cpu_seconds
from radrl.commands.main import cli
from radrl.datasets import Folder, HtmlPage
from radrl.evaluation import baselines
from radrl.evaluation import paired as pairing
from radrl.evaluation.label_agreement import VERDICTS
from radrl.labelers import build as build_labeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import BLANK, INDEX, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.pages import examples, run_notes
from radrl.params.data import Ingest
from radrl.params.messages import ParamsError
from radrl.params.rows import row_digests
from radrl.parts.builtin import BUILTIN
from radrl.pipelines.compare import figures, inputs, nodes, scores, summary, training
from radrl.pipelines.compare import inputs as gathering
from radrl.pipelines.compare.facts import read_facts, weigh_findings
from radrl.pipelines.compare.inputs import ComparisonSettings
from radrl.pipelines.compare.page import CONTENTS, draw_films, mark_case, mark_phrases
from radrl.pipelines.compare.pipeline import DECIDING, create_pipeline
from radrl.pipelines.compare.rows import Row, System, system_lines
from radrl.pipelines.compare.summary import sentences, too_few_patients, too_few_updates
from radrl.pipelines.compare.tables import describe_row as describe_row
from radrl.pipelines.compare.tables import rank_rows
from radrl.pipelines.scored_texts import label_columns, texts_of
from radrl.scoring import Scores, nlg
from radrl.scoring.build import build as build_scorers
from radrl.scoring.meteor import MeteorProcess
from radrl.scoring.names import group_names
from radrl.scoring.nlg import Nlg
from radrl.scoring.weighted_findings.score import WeightedFindings
from radrl.training.watching import rollouts
from radrl.wiring import run_costs
from radrl.wiring.run_costs import Origin

EFFUSION = "There is a small left pleural effusion."
EDEMA = "There is pulmonary edema."
NORMAL = "The lungs are clear. There is no pleural effusion."
REFERENCES = [EFFUSION, EDEMA, NORMAL, f"{EDEMA} {EFFUSION}", EFFUSION, NORMAL, EDEMA, f"{EFFUSION} {EDEMA}"]

SHIPPED = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text())
INGEST = SHIPPED["ingest"]
LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
INGESTED = {
    "source": "phantom",
    "drawn": True,
    "input": 11,
    "kept": 10,
    "quarantined": 1,
    "studies_kept": 10,
    "patients_in_two_splits": 0,
    "splits": {"train": 6, "test": 4},
}
EVAL = {
    "families": ["ce", "nlg"],
    "cleaning": "none",
    "labels_of": "original",
    "max_report_words": None,
    "labelers": ["rules"],
    "nlg": {"preparation": "basic", "meteor": True},  # which compare does not ask for
    "headline": [],
}
COMPARE = {
    "reference": "sft",
    "systems": {},
    "metrics": ["nlg_bleu2", "ce_rules_sample14_f1", "ce_rules_micro5_f1"],
    "bootstrap": {"resamples": 200, "confidence": 0.95},
    "examples": 2,
}
ARMS = {
    "sft": {"start": "sft", "selection": "full"},
    "grpo": {"start": "sft", "selection": "full", "reward": {"ce_f1": {"weight": 1.0}}, "credit": "uniform"},
}
TRIVIAL = [
    "constant_normal_report",
    "every_label_positive",
    "random_training_report",
    "nearest_training_film",
]
NO_CEILINGS = pd.DataFrame(columns=["sample_id", "row", *OBSERVATIONS])
LABELS = pd.DataFrame({"split": ["train"] * 2} | dict.fromkeys(OBSERVATIONS, BLANK))
NO_MODELS = Path("no labeler has a model here")


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The films below are of four patients, so that values can be worked out by hand."""
    monkeypatch.setattr(pairing, "FEWEST_PATIENTS", 2)


def scored(reports: list[str]) -> pd.DataFrame:
    """What eval stores per report."""
    ids = [f"f{i}" for i in range(len(REFERENCES))]
    patients = [f"p{i // 2}" for i in range(len(REFERENCES))]
    frame = pd.DataFrame(
        {
            "sample_id": ids,
            "study_id": ids,
            "patient_id": patients,
            "reference": REFERENCES,
            "reference_label_text": REFERENCES,
            "report": reports,
            "report_label_text": reports,
        }
    )
    labeler = build_labeler(LABELER)
    plain = {"nlg": {"preparation": "basic", "meteor": False}}
    for scorer in build_scorers(["ce", "nlg"], plain, [labeler]):
        frame = frame.assign(**scorer.score(REFERENCES, reports).per_report)
    truth, found = labeler.label(REFERENCES), labeler.label(reports)
    return frame.assign(reference_labels=list(truth), labels=list(found))


class Judge:
    """Gives each report the share of the reference's words that it has, and remembers what it was shown."""

    name = "judge"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.corpus: float | None = None

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        self.seen += hypotheses
        pairs = zip(references, hypotheses, strict=True)
        shares = np.array([len({*one.split()} & {*two.split()}) / len({*one.split()}) for one, two in pairs])
        return Scores({"judge": self.corpus or float(shares.mean())}, {"judge": shares})


def offer(monkeypatch: pytest.MonkeyPatch, kind: str, name: str, part: Any) -> None:
    """Put a part into the table of those that radrl has."""
    module = ModuleType(f"offered_{name}")
    module.part = part  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(BUILTIN[kind], name, f"{module.__name__}:part")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A scorer that `eval.families` can name."""
    one = Judge()
    offer(monkeypatch, "metric", "judge", lambda: one)
    return one


@pytest.fixture(scope="module")
def sft() -> pd.DataFrame:
    return scored([NORMAL] * 6 + [EDEMA, NORMAL])


@pytest.fixture(scope="module")
def grpo() -> pd.DataFrame:
    return scored([*REFERENCES[:7], "<script>alert('x')</script> Clear."])


def film(report: str) -> bytes:
    """A film that shows edema or nothing."""
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8) + (100 if "edema" in report else 0)
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def corpus() -> ds.Dataset:
    rows = [
        {"sample_id": f"f{i}", "split": "test", "report": text, "label_text": text}
        for i, text in enumerate(REFERENCES)
    ]
    rows += [
        {"sample_id": f"t{i}", "split": "train", "report": text, "label_text": text}
        for i, text in enumerate([EDEMA, NORMAL])
    ]
    return ds.dataset(pa.Table.from_pylist([row | {"images": [film(row["report"])]} for row in rows]))


@pytest.fixture
def comparison(sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset) -> pd.DataFrame:
    return compared({"sft": sft, "grpo": grpo}, corpus)


def settled(scoring: dict[str, Any] | None, compare: dict[str, Any]) -> ComparisonSettings:
    """What the first node of the stage puts together."""
    return nodes.settle_comparison(COMPARE | compare, EVAL | (scoring or {}), LABELER, ARMS, seed=0)


def compared(*given: Any, **asked: Any) -> pd.DataFrame:
    return with_pairs(*given, **asked)[0]


def with_pairs(
    arms: dict[str, pd.DataFrame],
    corpus: ds.Dataset,
    scoring: dict[str, Any] | None = None,
    ceilings: pd.DataFrame = NO_CEILINGS,
    systems: dict[str, System] | None = None,
    **settings: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    return nodes.compare_arms(
        gathering.gather_reports(**arms),
        ceilings,
        corpus,
        NO_MODELS,
        systems or {},
        settled(scoring, settings),
    )[:2]


def at(comparison: pd.DataFrame, arm: str, metric: str) -> pd.Series:
    (line,) = comparison[(comparison["arm"] == arm) & (comparison["metric"] == metric)].to_dict("records")
    return pd.Series(line)


def history() -> pd.DataFrame:
    steps = np.arange(1, 6)
    return pd.DataFrame({"step": steps, "reward": steps / 10, "entropy": 1 / steps, "learning_rate": 1e-4})


def watched() -> pd.DataFrame:
    """A history with a look before the first step and one after the last."""
    looks = pd.DataFrame(
        {
            "step": [0, 5],
            "watch/ce_rules_macro14_f1": [0.1, 0.3],
            "watch/ce_rules_f1/Fracture": [0.25, np.nan],
            "watch/most_common_share": 0.2,
            "watch/findings_per_report": [0.5, 0.7],
            "watch/findings_per_reference": 1.2,
        }
    )
    return history().merge(looks, on="step", how="outer")


SEEDS = pd.DataFrame(
    {
        "metric": ["ce_rules_sample14_f1"] * 3 + ["nlg_bleu4"],
        "arm": ["sft", "grpo", "constant_normal_report", "grpo"],
        "kind": ["arm", "arm", "trivial", "arm"],
        "seeds": 3,
        "mean": [0.5, 0.56, 0.2, 0.3],
        "sd": [0.01, 0.02, 0.01, 0.01],
        "difference": [np.nan, 0.06, -0.3, 0.0],
        "difference_low": [np.nan, 0.02, -0.4, -0.1],
        "difference_high": [np.nan, 0.1, -0.2, 0.1],
        "p_holm": [np.nan, 0.03, np.nan, 0.9],
        "corpus": Ingest.model_validate(INGEST).digest(),
    }
)
SEEDS["settings"] = [row_digests(SHIPPED)(line.arm, line.metric) for line in SEEDS.itertuples()]
"""What a study over seeds gave."""


TRAINING = {"steps": 5, "epochs": None, "iterations": 2, "prompts_per_step": 8, "rollouts": 4}


def diverse(count: int = 20) -> pd.DataFrame:
    """Films by the diversity of their rollouts, the last the most diverse; every fifth was drawn."""
    drawn = pd.Series([i // 5 if i % 5 == 4 else pd.NA for i in range(count)], dtype="Int64")
    return pd.DataFrame(
        {
            "sample_id": [f"t{i}" for i in range(count)],
            "diversity": np.arange(count) / 10,
            "rank": np.arange(count, 0, -1),
            "probability": 0.05,
            "drawn": drawn,
        }
    )


def counted(films: int) -> dict[str, int]:
    """What the stages that select count of a subset."""
    return {"samples": films, "studies": films} | dict.fromkeys(OBSERVATIONS, 0) | {"Edema": films // 2}


LEFT = {
    "diversity": diverse(),
    "ddsampling_summary": {"full": counted(20), "ddsampling": counted(4), "most_diverse": counted(2)},
    "selection_summary": {
        "complete": counted(9), "full": counted(20), "random": counted(2), "balanced": counted(2),
        "balance": {"level": 3},
    },
    "subset_full": pd.DataFrame({"sample_id": [f"t{i}" for i in range(20)]}),
    "subset_most_diverse": pd.DataFrame({"sample_id": ["t19", "t18"]}),
    "subset_random": pd.DataFrame({"sample_id": ["t0", "t1"]}),
    "subset_balanced": pd.DataFrame({"sample_id": ["t0", "t10"]}),
}  # fmt: skip
"""What the stages ddsampling and selection left."""

BOTH = {"grpo": ARMS["grpo"], "deer": ARMS["grpo"] | {"selection": "ddsampling"}}
"""Arms whose films come from either stage."""


def reads(left: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """What the hook hands the stage."""
    return lambda *names: {name: left[name] for name in names if name in left}


def counted_chosen(left: dict[str, Any], arms: dict[str, Any] = BOTH) -> list[inputs.Subset]:
    return nodes.count_selected_films(reads(left), dict.fromkeys(arms, history()), arms)


def agreement_of(arms: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Precision and recall of the arms and of the row without text."""
    rows = {arm: Row(texts_of(frame, "report"), stored=frame) for arm, frame in arms.items()}
    films = next(iter(arms.values()))
    rows["every_label_positive"] = Row(None, labels=baselines.every_label_positive(len(films)))
    (scorer,) = build_scorers(["ce"], EVAL, [build_labeler(LABELER)])
    group = scores.Group([], scorer, pooled=True)
    return scores.tabulate_agreement(rows, group, texts_of(films, "reference"), "rules")


def paired(comparison: pd.DataFrame) -> pd.DataFrame:
    """Pairs as `compare_arms` gives them, each difference with the same error."""
    return pd.DataFrame(
        [
            {"metric": metric, "arm": one, "other": other, "error": 0.05}
            for metric, lines in comparison.groupby("metric", sort=False)
            for one, other in itertools.combinations(lines["arm"], 2)
        ],
        columns=["metric", "arm", "other", "error"],
    )


def cards(
    comparison: pd.DataFrame, reports: dict[str, pd.DataFrame], histories: dict[str, pd.DataFrame]
) -> Callable[[Path], None]:
    """What writes the cards of a study without settings of its own."""
    return nodes.write_cards(comparison, reports, histories, INGESTED, {"split": "test"}, settled(None, {}))


def page(
    comparison: pd.DataFrame,
    arms: dict[str, pd.DataFrame],
    corpus: ds.Dataset,
    scoring: dict[str, Any] | None = None,
    ingested: dict[str, Any] | None = None,
    curve: pd.DataFrame | None = None,
    over_seeds: list[dict[str, Any]] | None = None,
    systems: dict[str, System] | None = None,
    diversity: pd.DataFrame | None = None,
    **settings: Any,
) -> str:
    scoring_of = settled(scoring, settings)
    reports = gathering.gather_reports(**arms)
    histories = {"grpo": history() if curve is None else curve}
    chosen = counted_chosen(left=LEFT if diversity is None else LEFT | {"diversity": diversity})
    results = Path(__file__).parents[2] / "conf" / "base" / "published_results.csv"
    beside = nodes.gather_page_context(
        pd.read_csv(results),
        over_seeds or [],
        INGESTED | (ingested or {}),
        {"labeler": "rules", "reports": 10, "known": 10, "agreement": {"Edema": 0.987}},
        systems or {},
        chosen,
        nodes.count_rollouts(histories, TRAINING, scoring_of.arms),
    )
    return nodes.write_page(
        comparison,
        paired(comparison),
        agreement_of(arms),
        reports,
        histories,
        nodes.draw_comparison(comparison, scoring_of.compare)[1],
        nodes.draw_curves(histories, LABELS)[1],
        corpus,
        {},
        beside,
        scoring_of,
    )


class TestWithoutTrainingFilms:
    """A corpus that is all test: DEER's zero-shot evaluation on all of IU X-Ray."""

    def test_rows_that_need_training_films_are_left_out(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, comparison: pd.DataFrame
    ) -> None:
        test = ds.dataset(corpus.to_table(filter=ds.field("split") == "test"))
        found = compared({"sft": sft, "grpo": grpo}, test)
        gone = {"random_training_report", "nearest_training_film"}
        assert {*comparison["arm"]} - {*found["arm"]} == gone
        metric = COMPARE["metrics"][0]
        assert at(found, "grpo", metric)["value"] == at(comparison, "grpo", metric)["value"]
        assert not {*found["beaten_by"].dropna()} & gone
        assert "No model." in page(found, {"sft": sft, "grpo": grpo}, test)


class TestCards:
    @pytest.fixture
    def cards(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, tmp_path: Path
    ) -> dict[str, str]:
        fill = cards(comparison, {"sft": sft, "grpo": grpo}, {"grpo": history()})
        fill(tmp_path)
        return {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}

    def test_a_card_an_arm_says_recipe_scores_and_what_it_is_not_for(
        self, cards: dict[str, str], comparison: pd.DataFrame
    ) -> None:
        assert {*cards} == {"sft", "grpo"}
        metric = COMPARE["metrics"][0]
        line = at(comparison, "grpo", metric)
        assert (
            f"| {metric} | {line['value']:.3f} | {line['low']:.3f} to {line['high']:.3f} |" in cards["grpo"]
        )
        for card in cards.values():
            assert "drawn films alone" in card
            assert "may be used to care for" in card

    def test_it_has_the_front_matter_that_hubs_read(self, cards: dict[str, str]) -> None:
        front = yaml.safe_load(cards["grpo"].split("---\n")[1])
        assert "research-only" in front["tags"]

    def test_the_reference_arm_has_no_difference_from_itself(self, cards: dict[str, str]) -> None:
        assert "| difference |" in cards["grpo"]
        assert "| difference |" not in cards["sft"]


class TestHeadline:
    def test_it_is_each_arms_number_of_the_first_metric_and_no_other_rows(
        self, comparison: pd.DataFrame
    ) -> None:
        metric = COMPARE["metrics"][0]
        expected = {arm: round(float(at(comparison, arm, metric)["value"]), 4) for arm in ("sft", "grpo")}
        assert nodes.pick_headline(comparison, COMPARE) == expected
        assert len({*comparison["arm"]}) > len(expected)

    def test_an_arm_without_a_number_is_left_out_and_is_no_zero(self, comparison: pd.DataFrame) -> None:
        without = comparison.assign(value=comparison["value"].where(comparison["arm"] != "grpo"))
        assert list(nodes.pick_headline(without, COMPARE)) == ["sft"]


class TestGather:
    def test_films_take_the_order_of_the_first_arm(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        together = gathering.gather_reports(sft=sft, grpo=grpo.iloc[::-1])
        assert together["grpo"]["sample_id"].tolist() == sft["sample_id"].tolist()
        assert together["grpo"]["report"].tolist() == grpo["report"].tolist()

    def test_a_missing_film_is_named(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        with pytest.raises(
            ValueError, match=r"'sft' and 'grpo' were scored on other films: 'grpo' lacks 1 .* f3"
        ):
            gathering.gather_reports(sft=sft, grpo=grpo.drop(index=3))

    def test_a_film_too_many_is_named(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match=r"has 1 more, such as f5"):
            gathering.gather_reports(sft=sft.drop(index=5), grpo=grpo)

    def test_a_film_twice_is_named(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match=r"'grpo' has film f2 twice"):
            gathering.gather_reports(sft=sft, grpo=pd.concat([grpo, grpo.iloc[[2]]]))

    def test_other_references_are_refused(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        changed = grpo.assign(reference=[*REFERENCES[:4], "Something else.", *REFERENCES[5:]])
        with pytest.raises(ValueError, match=r"other references for film f4"):
            gathering.gather_reports(sft=sft, grpo=changed)

    def test_only_curves_of_arms_that_trained_are_kept(self) -> None:
        assert list(gathering.gather_of_trained(sft=pd.DataFrame({"step": []}), grpo=history())) == ["grpo"]


class TestTable:
    def test_rows_and_metrics_stand_in_the_order_given(self, comparison: pd.DataFrame) -> None:
        assert list(dict.fromkeys(comparison["arm"])) == ["sft", "grpo", *TRIVIAL, "reference_report"]
        assert comparison.loc[comparison["arm"] == "grpo", "metric"].tolist() == COMPARE["metrics"]
        kinds = comparison.groupby("kind")["arm"].agg(lambda arms: sorted(set(arms))).to_dict()
        assert kinds == {"arm": ["grpo", "sft"], "trivial": sorted(TRIVIAL), "ceiling": ["reference_report"]}

    def test_values_are_the_scores_of_eval(self, comparison: pd.DataFrame, grpo: pd.DataFrame) -> None:
        line = at(comparison, "grpo", "ce_rules_sample14_f1")
        assert line["value"] == pytest.approx(grpo["ce_rules_sample14_f1"].mean())
        assert line["low"] <= line["value"] <= line["high"]

    def test_difference_is_from_the_reference_arm(self, comparison: pd.DataFrame) -> None:
        ours, theirs = (at(comparison, arm, "ce_rules_micro5_f1") for arm in ("grpo", "sft"))
        assert ours["difference"] == pytest.approx(ours["value"] - theirs["value"])
        assert ours["difference_low"] > 0
        assert ours["p_holm"] < 0.05
        assert np.isnan(theirs["difference"])

    def test_ceiling_and_trivial_rows_are_no_hypotheses(self, comparison: pd.DataFrame) -> None:
        # one arm against the reference arm: Holm has nothing to correct
        assert comparison.groupby("metric")["p_holm"].count().to_dict() == dict.fromkeys(
            COMPARE["metrics"], 1
        )
        tested = comparison[comparison["p_holm"].notna()]
        assert tested["p_holm"].tolist() == tested["p"].tolist()

    def test_an_arm_equal_to_the_reference_arm_differs_by_nothing(
        self, sft: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        line = at(compared({"sft": sft, "same": sft}, corpus), "same", "nlg_bleu2")
        assert line[["difference", "difference_low", "difference_high", "p_holm"]].tolist() == [0, 0, 0, 1]

    def test_any_two_rows_with_a_model_or_without_are_a_pair(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        table, pairs = with_pairs({"sft": sft, "grpo": grpo}, corpus)
        of_metric = pairs[pairs["metric"] == "ce_rules_micro5_f1"]
        rows = table.loc[table["kind"].isin(["arm", "trivial"]), "arm"].drop_duplicates().tolist()
        assert [*zip(of_metric["arm"], of_metric["other"], strict=True)] == [*itertools.combinations(rows, 2)]
        assert (pairs["error"] >= 0).all()

    def test_the_reference_beats_everything_and_marks_nobody(self, comparison: pd.DataFrame) -> None:
        assert at(comparison, "reference_report", "nlg_bleu2")["value"] == pytest.approx(1.0)
        assert not comparison["beaten_by"].dropna().str.contains("reference_report").any()

    def test_trivial_row_that_beats_an_arm_is_named(self, comparison: pd.DataFrame) -> None:
        # sft writes "normal" on films with effusion; asserting everything finds them all
        assert "every_label_positive" in at(comparison, "sft", "ce_rules_micro5_f1")["beaten_by"]
        assert pd.isna(at(comparison, "grpo", "ce_rules_micro5_f1")["beaten_by"])

    def test_row_without_text_has_no_overlap_of_words(self, comparison: pd.DataFrame) -> None:
        metrics = comparison.loc[comparison["arm"] == "every_label_positive", "metric"]
        assert metrics.tolist() == ["ce_rules_sample14_f1", "ce_rules_micro5_f1"]

    def test_row_of_the_nearest_film_reports_as_that_film(self, comparison: pd.DataFrame) -> None:
        # its film tells the four edemas from the rest, and nothing of the four effusions
        line = at(comparison, "nearest_training_film", "ce_rules_micro5_f1")
        assert line["value"] == pytest.approx(2 * 4 / (2 * 4 + 0 + 4))

    def test_both_paired_tests_are_given(self, comparison: pd.DataFrame) -> None:
        line = at(comparison, "grpo", "ce_rules_micro5_f1")
        assert 0 < line["p"] < 0.05
        assert 0 < line["p_randomisation"] <= 1
        assert line["p"] != line["p_randomisation"]

    def test_metric_without_interval_is_refused_by_name(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        with pytest.raises(ValueError, match=r"compare\.metrics: 'nlg_rouge' is no metric.*nlg_rougel"):
            compared({"sft": sft, "grpo": grpo}, corpus, metrics=["nlg_rouge"])

    def test_meteor_is_asked_for_by_name_and_has_an_interval(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def counts(_: Any, references: list[str], hypotheses: list[str]) -> np.ndarray:
            """All words are content words; the common ones match exactly, in one chunk."""
            pairs = [
                (known.split(), said.split()) for known, said in zip(references, hypotheses, strict=True)
            ]
            table = np.zeros((len(pairs), 23))
            for row, (known, said) in zip(table, pairs, strict=True):
                row[[0, 1]] = len(said), len(known)
                row[[4, 5]], row[20] = len({*known} & {*said}), 1
            return table

        # Java takes seconds a row; tests/scoring/test_meteor.py asks the program itself
        monkeypatch.setattr(nlg, "meteor_missing", lambda: None)
        monkeypatch.setattr(MeteorProcess, "__enter__", lambda process: process)
        monkeypatch.setattr(MeteorProcess, "__exit__", lambda *_: None)
        monkeypatch.setattr(MeteorProcess, "counts", counts)
        arms, metrics = {"sft": sft, "grpo": grpo}, ["nlg_bleu2", "nlg_meteor"]
        found = compared(arms, corpus, metrics=metrics)
        line = at(found, "grpo", "nlg_meteor")
        assert line["low"] < line["value"] < line["high"]
        assert np.isfinite(line["p"])
        assert at(found, "reference_report", "nlg_meteor")["value"] > line["value"]
        assert "every_label_positive" not in {*found.loc[found["metric"] == "nlg_meteor", "arm"]}
        assert "METEOR" in page(
            found, {"sft": sft, "grpo": grpo}, corpus, metrics=["nlg_bleu2", "nlg_meteor"]
        )

    def test_arm_named_like_another_row_is_refused(self, sft: pd.DataFrame, corpus: ds.Dataset) -> None:
        with pytest.raises(ValueError, match=r"arms\.reference_report: the table has a row of this name"):
            compared({"sft": sft, "reference_report": sft}, corpus)

    def test_table_is_printed_whole(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ten = [f"ce_rules_{mean}{size}_f1" for mean in ("sample", "micro", "macro") for size in (14, 5)]
        ten += ["nlg_bleu1", "nlg_bleu2", "nlg_rougel", "nlg_cider", "ce_rules_macro5_f1_uncertain_pos"]
        comparison = compared({"sft": sft, "grpo": grpo}, corpus, metrics=ten)
        printed = capsys.readouterr().out
        assert "…" not in printed
        assert max(map(len, printed.splitlines())) <= 80
        lines = [line.split() for line in printed.splitlines() if line.startswith("grpo")]
        shown = [float(cell.rstrip("▲▼†")) for line in lines for cell in line[1:]]
        by_group = [name for name in ten if name.startswith("ce")] + ten[6:10]
        expected = [at(comparison, "grpo", name)["value"] for name in by_group]
        assert shown == pytest.approx(expected, abs=5e-4)
        assert "▲" in printed
        # a table has the rows that have its metrics
        assert "every_label_positive" not in printed[printed.index("\nnlg") :]


class TestReaders:
    """Rows that read labels off the films."""

    @pytest.fixture
    def ceilings(self) -> pd.DataFrame:
        """The network is right of all films, the probe finds every edema and nothing else; in no order."""
        truth = (build_labeler(LABELER).label(REFERENCES) == POSITIVE).astype(np.int8)
        edema = np.zeros_like(truth)
        edema[:, INDEX["Edema"]] = truth[:, INDEX["Edema"]]
        parts = []
        for row, labels in (("label_network", truth), ("tower_probe", edema)):
            films = pd.DataFrame({"sample_id": [f"f{i}" for i in range(len(REFERENCES))], "row": row})
            parts.append(pd.concat([films, pd.DataFrame(labels, columns=list(OBSERVATIONS))], axis=1))
        return pd.concat(parts).iloc[::-1]

    @pytest.fixture
    def found(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, ceilings: pd.DataFrame
    ) -> pd.DataFrame:
        return compared({"sft": sft, "grpo": grpo}, corpus, ceilings=ceilings)

    def test_they_stand_before_the_references_on_metrics_of_labels(self, found: pd.DataFrame) -> None:
        assert [*dict.fromkeys(found["arm"])][-3:] == ["tower_probe", "label_network", "reference_report"]
        own = found[found["kind"] == "reader"]
        assert own["metric"].tolist() == ["ce_rules_sample14_f1", "ce_rules_micro5_f1"] * 2
        assert at(found, "label_network", "ce_rules_micro5_f1")["value"] == 1
        # four edemas found, four effusions missed
        line = at(found, "tower_probe", "ce_rules_micro5_f1")
        assert line["value"] == pytest.approx(2 * 4 / (2 * 4 + 0 + 4))
        assert line["low"] < line["value"] < line["high"]

    def test_they_are_no_hypotheses_and_mark_nobody(
        self, found: pd.DataFrame, comparison: pd.DataFrame
    ) -> None:
        others = found[found["kind"] != "reader"].reset_index(drop=True)
        pd.testing.assert_frame_equal(others, comparison)
        own = found[found["kind"] == "reader"]
        assert own[["difference", "p", "p_holm", "beaten_by"]].isna().all(axis=None)

    def test_table_figure_and_page_say_what_they_are(
        self,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        ceilings: pd.DataFrame,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        arms, asked = {"sft": sft, "grpo": grpo}, {"metrics": COMPARE["metrics"][1:]}
        said = "read labels off the films and write nothing"
        found = compared(arms, corpus, ceilings=ceilings, **asked)
        assert "tower_probe, label_network: no text" in " ".join(capsys.readouterr().out.split())
        text = page(found, arms, corpus, **asked)
        assert said in text
        assert "a small network trained on labels; writes no text" in text
        assert '<tr class="reader first-of-kind' in text
        drawn, _ = nodes.draw_comparison(found, COMPARE)
        assert [tick.get_text() for tick in drawn.axes[0].get_yticklabels()][-2:] == [
            "tower_probe",
            "label_network",
        ]
        alone = compared(arms, corpus, **asked)
        assert said not in page(alone, arms, corpus, **asked)
        assert "no text" not in capsys.readouterr().out

    def test_a_scored_film_that_was_not_read_is_named(
        self, sft: pd.DataFrame, corpus: ds.Dataset, ceilings: pd.DataFrame
    ) -> None:
        fewer = ceilings[(ceilings["row"] != "tower_probe") | (ceilings["sample_id"] != "f3")]
        with pytest.raises(ValueError, match=r"row 'tower_probe' lacks 1 .* f3; run ceilings again"):
            compared({"sft": sft}, corpus, ceilings=fewer)

    def test_an_arm_may_not_bear_their_name(self, sft: pd.DataFrame, corpus: ds.Dataset) -> None:
        with pytest.raises(ValueError, match=r"arms\.tower_probe: the table has a row of this name"):
            compared({"sft": sft, "tower_probe": sft}, corpus)


class TestScores:
    """Who is asked for which score."""

    def test_an_arms_stored_values_are_taken_and_trivial_rows_are_judged(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        stored = np.linspace(0.1, 0.8, 8)
        arms = {"sft": sft.assign(judge=stored / 2), "grpo": grpo.assign(judge=stored)}
        found = compared(arms, corpus, {"families": ["ce", "nlg", "judge"]}, metrics=["judge", "nlg_bleu2"])
        assert at(found, "grpo", "judge")["value"] == pytest.approx(stored.mean())
        assert at(found, "grpo", "judge")["difference"] == pytest.approx(stored.mean() / 2)
        assert at(found, "reference_report", "judge")["value"] == 1
        assert grpo["report"].iloc[-1] not in judge.seen
        # three rows with texts and the references
        assert len(judge.seen) == 4 * len(REFERENCES)
        assert baselines.NORMAL_REPORT in judge.seen
        assert found[found["arm"] == "every_label_positive"].empty

    def test_a_report_without_a_value_is_left_out_and_counted(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        values = [0.5, np.nan, 0.7, 0.9, np.nan, 0.3, 0.1, 0.2]
        arms = {"sft": sft.assign(judge=0.4), "grpo": grpo.assign(judge=values)}
        found = compared(arms, corpus, {"families": ["judge"]}, metrics=["judge"])
        line = at(found, "grpo", "judge")
        assert line["value"] == pytest.approx((0.5 + 0.7 + 0.9 + 0.3 + 0.1 + 0.2) / 6)
        assert (line["missing"], at(found, "sft", "judge")["missing"]) == (2, 0)

    def test_a_scorer_without_a_metric_in_the_table_is_not_asked(
        self, sft: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        compared({"sft": sft}, corpus, {"families": ["ce", "nlg", "judge"]})
        assert judge.seen == []

    def test_a_figure_that_is_no_mean_is_refused(
        self, sft: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        judge.corpus = 0.123
        with pytest.raises(ValueError, match=r"'judge' is 0\.123 over all reports and not the mean"):
            compared({"sft": sft.assign(judge=0.5)}, corpus, {"families": ["judge"]}, metrics=["judge"])

    def test_scores_of_an_older_eval_are_refused_before_anything_is_judged(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        arms = {"sft": sft.assign(judge=0.5), "grpo": grpo}
        with pytest.raises(ValueError, match=r"compare\.metrics, arm 'grpo': 'judge' is no metric"):
            compared(arms, corpus, {"families": ["judge"]}, metrics=["judge"])
        assert judge.seen == []

    @pytest.mark.parametrize("metric", ["judge", "ce_chexbert_micro14_f1", "macro_f1"])
    def test_metric_of_no_family_is_refused(self, sft: pd.DataFrame, corpus: ds.Dataset, metric: str) -> None:
        with pytest.raises(ValueError, match=f"{metric}' is none of .* begin with nlg, ce_rules"):
            compared({"sft": sft}, corpus, metrics=[metric])

    @pytest.mark.parametrize("metric", ["green_rules_wrong_location", "green_rules_missing_finding"])
    def test_metric_of_which_less_is_better_is_refused(
        self, sft: pd.DataFrame, corpus: ds.Dataset, metric: str
    ) -> None:
        with pytest.raises(ValueError, match=f"of '{metric}' less is better"):
            compared({"sft": sft}, corpus, {"families": ["green_rules"]}, metrics=["green_rules", metric])

    def test_every_labeler_has_metrics_of_its_own(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Edema:
            name = "chexbert"

            def label(self, reports: Sequence[str]) -> np.ndarray:
                labels = np.zeros((len(reports), 14), dtype=np.int8)
                labels[:, INDEX["Edema"]] = [POSITIVE * ("edema" in text) for text in reports]
                return labels

        offer(monkeypatch, "labeler", "chexbert", Edema)
        found = compared(
            {"sft": sft, "grpo": grpo},
            corpus,
            {"labelers": ["rules", "chexbert"]},
            metrics=["ce_chexbert_micro14_f1", "ce_rules_micro14_f1"],
        )
        # four edemas: sft names one of them; to assert all 14 labels finds four among 8 x 14
        assert at(found, "sft", "ce_chexbert_micro14_f1")["value"] == pytest.approx(2 / (2 + 3))
        assert at(found, "every_label_positive", "ce_chexbert_micro14_f1")["value"] == pytest.approx(8 / 116)
        assert at(found, "nearest_training_film", "ce_chexbert_micro14_f1")["value"] == 1
        assert at(found, "nearest_training_film", "ce_rules_micro14_f1")["value"] < 1

    def test_labels_that_eval_stored_are_not_read_again(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[str] = []
        own = RulesLabeler.label

        def label(self: RulesLabeler, reports: Sequence[str]) -> np.ndarray:
            read.extend(reports)
            return own(self, reports)

        monkeypatch.setattr(RulesLabeler, "label", label)
        compared({"sft": sft, "grpo": grpo}, corpus)
        # references, arms' reports and the training reports are among the stored ones
        assert read == [baselines.NORMAL_REPORT]

    def test_a_metric_goes_to_the_longest_fitting_name(self) -> None:
        settings = {"families": ["green", "ce", "green_rules"], "labelers": ["chexbert", "chexbert_compact"]}
        metrics = ["green", "green_rules", "ce_chexbert_compact_exact_match14", "ce_chexbert_micro5_f1"]
        assert group_names(metrics, settings) == {
            "green": ["green"],
            "green_rules": ["green_rules"],
            "ce_chexbert_compact": ["ce_chexbert_compact_exact_match14"],
            "ce_chexbert": ["ce_chexbert_micro5_f1"],
        }


class TestGold:
    """Scores against gold labels beside those against reports."""

    GOLD = (None, "Edema", "No Finding", "Edema")
    METRICS = ("ce_rules_gold_micro14_f1", "ce_rules_micro14_f1", "ce_rules_gold_macro14_f1")

    @pytest.fixture
    def arms(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Four of the eight films have gold labels: nothing, edema, no finding, edema."""
        gold = [[int(name == known) for name in OBSERVATIONS] for known in self.GOLD]
        return {arm: frame.assign(gold=[*gold, *[None] * 4]) for arm, frame in (("sft", sft), ("grpo", grpo))}

    def test_every_row_is_held_against_gold_labels(
        self, arms: dict[str, pd.DataFrame], corpus: ds.Dataset
    ) -> None:
        found = compared(arms, corpus, metrics=list(self.METRICS))
        value = {
            arm: at(found, arm, self.METRICS[0])["value"]
            for arm in ("sft", "grpo", *TRIVIAL, "reference_report")
        }
        # writes "normal" four times: TP no finding, FP it three times, FN edema twice
        assert value["sft"] == pytest.approx(2 / (2 + 3 + 2))
        assert value["constant_normal_report"] == pytest.approx(2 / (2 + 3 + 2))
        # the references' own labels: TP all three, FP effusion twice
        assert value["reference_report"] == pytest.approx(6 / (6 + 2))
        assert value["grpo"] == value["reference_report"]
        assert value["every_label_positive"] == pytest.approx(2 * 3 / (4 * 14 + 3))
        assert {*TRIVIAL} <= value.keys()

    def test_films_without_gold_labels_are_counted_and_resampled_by_nobody(
        self, arms: dict[str, pd.DataFrame], corpus: ds.Dataset
    ) -> None:
        found = compared(arms, corpus, metrics=list(self.METRICS))
        assert found.groupby("metric")["missing"].unique().map(list).to_dict() == {
            "ce_rules_gold_micro14_f1": [4],
            "ce_rules_gold_macro14_f1": [4],
            "ce_rules_micro14_f1": [0],
        }
        whole = compared(
            {arm: frame.head(4) for arm, frame in arms.items()}, corpus, metrics=list(self.METRICS)
        )
        for metric in (self.METRICS[0], self.METRICS[2]):
            for part in (
                "value",
                "low",
                "high",
                "difference",
                "difference_low",
                "p",
                "p_randomisation",
                "p_holm",
            ):
                assert at(found, "grpo", metric)[part] == at(whole, "grpo", metric)[part]

    def test_no_gold_label_at_all_is_said_with_the_mend(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        with pytest.raises(ValueError, match=r"'ce_rules_gold_micro14_f1' needs gold labels.*leave it out"):
            compared({"sft": sft, "grpo": grpo}, corpus, metrics=list(self.METRICS))

    def test_unknown_metric_against_gold_labels_names_the_valid_ones(
        self, arms: dict[str, pd.DataFrame], corpus: ds.Dataset
    ) -> None:
        with pytest.raises(ValueError, match=r"did you mean 'ce_rules_gold_micro14_f1'"):
            compared(arms, corpus, metrics=["ce_rules_gold_micr14_f1"])

    def test_labels_are_read_once_for_both(
        self, arms: dict[str, pd.DataFrame], corpus: ds.Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[str] = []
        own = RulesLabeler.label

        def label(self: RulesLabeler, reports: Sequence[str]) -> np.ndarray:
            read.extend(reports)
            return own(self, reports)

        monkeypatch.setattr(RulesLabeler, "label", label)
        compared(arms, corpus, metrics=list(self.METRICS))
        assert read == [baselines.NORMAL_REPORT]

    def test_the_page_says_what_they_are(self, arms: dict[str, pd.DataFrame], corpus: ds.Dataset) -> None:
        asked = {"metrics": list(self.METRICS)}
        text = page(compared(arms, corpus, **asked), arms, corpus, **asked)
        assert re.findall(r"<h3>(.*?) <code>(.*?)</code></h3>", text) == [
            (
                "Clinical efficacy against gold labels, the generated reports read by the labeler rules",
                "ce_rules_gold",
            ),
            ("Clinical efficacy: agreement of labels, read by the labeler rules", "ce_rules"),
        ]
        assert "<small>4 without a value</small>" in text


class TestStoredScores:
    """What eval stored of the arms is not computed again."""

    def test_cider_is_asked_where_the_table_shows_it(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        arms = gathering.gather_reports(sft=sft, grpo=grpo)
        for metrics, asked in ((["nlg_bleu2"], False), (["nlg_bleu2", "nlg_cider"], True)):
            (group,) = scores.build_groups(
                {"nlg": metrics}, arms, settings=EVAL, labeler=LABELER, models=None, device="cpu"
            ).values()
            assert isinstance(group.scorer, Nlg)
            assert group.scorer.cider is asked

    @pytest.mark.parametrize("metrics", [["nlg_bleu2", "nlg_rougel"], ["nlg_bleu4", "nlg_cider"]])
    def test_arms_get_what_their_scorer_gives_to_the_last_bit(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, metrics: list[str]
    ) -> None:
        arms = gathering.gather_reports(sft=sft, grpo=grpo)
        groups = scores.build_groups(
            {"nlg": metrics}, arms, settings=EVAL, labeler=LABELER, models=None, device="cpu"
        )
        stored = {arm: Row(texts_of(frame, "report"), stored=frame) for arm, frame in arms.items()}
        unknown = {arm: Row(row.reports) for arm, row in stored.items()}
        known, again = (
            scores.score_rows(rows, groups["nlg"], texts_of(sft, "reference")) for rows in (stored, unknown)
        )
        assert [*known] == [*again] == ["sft", "grpo"]
        for arm in arms:
            assert known[arm].summed.values() == again[arm].summed.values()
            assert [*known[arm].summed.values()] == metrics

    def test_what_eval_stored_is_taken_as_it_is(self, sft: pd.DataFrame) -> None:
        arms = {"sft": sft.assign(nlg_rougel=0.25)}
        groups = scores.build_groups(
            {"nlg": ["nlg_rougel"]}, arms, settings=EVAL, labeler=LABELER, models=None, device="cpu"
        )
        rows = {"sft": Row(texts_of(sft, "report"), stored=arms["sft"])}
        found = scores.score_rows(rows, groups["nlg"], texts_of(sft, "reference"))
        assert found["sft"].summed.values() == {"nlg_rougel": 0.25}

    def test_stored_labels_of_a_second_labeler_are_not_read_again(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        columns = label_columns(1, "rules")
        stored = {
            arm: frame.assign(
                **{columns["reference"]: frame["reference_labels"], columns["report"]: frame["labels"]}
            )
            for arm, frame in {"sft": sft, "grpo": grpo}.items()
        }
        monkeypatch.setattr(RulesLabeler, "label", lambda *_: pytest.fail("a stored report was read again"))
        settings = EVAL | {"labelers": ["other", "rules"]}
        names = {"ce_rules": ["ce_rules_micro14_f1"]}
        groups = scores.build_groups(
            names, stored, settings=settings, labeler=LABELER, models=None, device="cpu"
        )
        rows = {arm: Row(texts_of(frame, "report"), stored=frame) for arm, frame in stored.items()}
        assert [*scores.score_rows(rows, groups["ce_rules"], texts_of(sft, "reference"))] == ["sft", "grpo"]


class TestFigures:
    def test_forest_has_a_panel_a_metric_and_no_ceiling(self, comparison: pd.DataFrame) -> None:
        drawn, _ = nodes.draw_comparison(comparison, COMPARE)
        assert [panel.get_title(loc="left") for panel in drawn.axes] == COMPARE["metrics"]
        names = [tick.get_text() for tick in drawn.axes[0].get_yticklabels()]
        assert names == ["sft", "grpo", *TRIVIAL]

    def test_two_runs_give_the_same_bytes(self, comparison: pd.DataFrame, tmp_path: Path) -> None:
        for name in ("one.png", "two.png"):
            figure, _ = nodes.draw_comparison(comparison, COMPARE)
            save_args = {"dpi": 60, "metadata": {"Software": None}}
            MatplotlibDataset(filepath=str(tmp_path / name), save_args=save_args).save(figure)
        assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()

    def test_the_page_has_what_a_figure_of_its_own_would_give(self, comparison: pd.DataFrame) -> None:
        figure, drawn = nodes.draw_comparison(comparison, COMPARE)
        alone, buffer = figures.draw_forest(comparison, reference="sft"), io.StringIO()
        with mpl.rc_context({"svg.hashsalt": "forest", "svg.fonttype": "none"}):
            plain = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            alone.savefig(buffer, format="svg", transparent=True, metadata=plain)
        assert buffer.getvalue().endswith(drawn)
        # and the picture that is saved afterwards has the layout of the page
        places = [panel.get_position().bounds for panel in figure.axes]
        figure.savefig(io.BytesIO(), dpi=110)
        assert [panel.get_position().bounds for panel in figure.axes] == places


class TestCurves:
    @staticmethod
    def panels(*arms: pd.DataFrame, rare: dict[str, int] | None = None) -> dict[str, Axes]:
        """The drawn panels by title."""
        drawn = training.draw_curves({f"arm{i}": arm for i, arm in enumerate(arms)}, rare)
        return {panel.get_title(loc="left"): panel for panel in drawn.axes if panel.axison}

    def test_what_no_arm_logged_is_not_drawn(self) -> None:
        drawn = self.panels(history(), history().drop(columns="entropy"))
        assert [*drawn] == ["reward", "entropy, nats a token"]
        assert [len(panel.lines) for panel in drawn.values()] == [4, 2]  # each step and the running mean

    def test_panels_stand_in_rows_by_what_they_answer(self) -> None:
        drawn = training.draw_curves({"grpo": watched()}, {"Fracture": 12})
        assert [part.get_suptitle() for part in drawn.subfigs] == [
            "Reward",
            "Policy",
            "Watched films",
            "Signs of a hacked reward on the watched films",
        ]
        assert len(drawn.subfigs[2].axes) == training.COLUMNS  # so that columns of all rows are as wide

    def test_parts_of_a_reward_are_drawn_where_there_are_several(self) -> None:
        one = history().assign(**{"rewards/ce_f1/mean": 0.5})
        two = one.assign(**{"rewards/bleu2/mean": 0.1})
        assert len(self.panels(one)) == 2
        assert {"rewards/ce_f1", "rewards/bleu2"} < {*self.panels(two)}

    def test_shares_that_are_0_all_along_are_left_out(self) -> None:
        never = history().assign(**{"completions/clipped_ratio": 0.0, "clip_ratio/region_mean": 0.0})
        assert "truncated outputs" not in self.panels(never)
        once = never.assign(**{"completions/clipped_ratio": [0, 0, 0.1, 0, 0]})
        assert "truncated outputs" in self.panels(never, once)

    def test_looks_are_points_with_their_references_dotted(self) -> None:
        drawn = self.panels(watched(), rare={"Fracture": 12})
        (macro,) = drawn["macro F1, 14 labels"].lines
        assert macro.get_xydata().tolist() == [[0, 0.1], [5, 0.3]]
        assert macro.get_marker() == "o"
        looks, references = drawn["findings a report"].lines
        assert looks.get_ydata().tolist() == [0.5, 0.7]
        assert ({*references.get_ydata()}, references.get_linestyle()) == ({1.2}, ":")
        assert drawn["F1 Fracture (12 in training)"].lines[0].get_ydata().tolist() == [0.25]

    def test_weights_of_tokens_have_their_quantiles(self) -> None:
        quantiles = {f"credit/weight_p{q}": value for q, value in ((10, 1.0), (50, 1.1), (90, 1.4), (99, 2))}
        drawn = self.panels(history().assign(**quantiles))
        panel = drawn["token weight, 10 to 90 % and median"]
        assert panel.dataLim.intervaly.tolist() == [1.0, 1.4]
        assert len(panel.collections) == len(panel.lines) == 1

    def test_arms_can_be_told_apart(self) -> None:
        drawn = self.panels(*[history()] * 12)["reward"]
        styles = {
            (line.get_color(), line.get_marker()) for line in drawn.lines if line.get_marker() != "None"
        }
        assert len(styles) == 12

    def test_rare_labels_are_the_rarest_that_can_be_learnt(self) -> None:
        counts = {"Fracture": 11, "Edema": 12, "Pneumonia": 30, "Lung Lesion": 9, "No Finding": 10}
        rows = 50
        columns = {
            name: [POSITIVE] * counts.get(name, 0) + [UNCERTAIN] * (rows - counts.get(name, 0))
            for name in OBSERVATIONS
        }
        labels = pd.DataFrame({"split": "train"} | columns)
        test = labels.assign(split="test", **dict.fromkeys(OBSERVATIONS, POSITIVE))
        assert training.rare_labels(pd.concat([labels, test])) == {
            "Fracture": 11,
            "Edema": 12,
            "Pneumonia": 30,
        }

    def test_rare_labels_are_those_the_watched_films_have(self) -> None:
        rare = {"Pneumothorax": 10, "Fracture": 12, "Edema": 13, "Pneumonia": 14}
        seen = watched().assign(**{"watch/ce_rules_f1/Edema": 0.5, "watch/ce_rules_f1/Pneumonia": 0.5})
        titles = [title for title in self.panels(seen, rare=rare) if title.endswith("in training)")]
        assert titles == [
            "F1 Pneumonia (14 in training)",
            "F1 Fracture (12 in training)",
            "F1 Edema (13 in training)",
        ]

    def test_labels_of_orapos_figure_2_are_drawn_however_frequent_they_are(self) -> None:
        rare = {"Pneumothorax": 10, "Edema": 11, "Cardiomegaly": 12, "Fracture": 900}
        looked = {f"watch/ce_rules_f1/{name}": 0.5 for name in ("Edema", "Cardiomegaly", "Pneumothorax")}
        drawn = self.panels(watched().assign(**looked), rare=rare)
        assert [title for title in drawn if title.startswith("F1 ")] == [
            "F1 Fracture (900 in training)",
            "F1 Pneumothorax (10 in training)",
            "F1 Edema (11 in training)",
        ]
        unknown = watched().assign(**{"watch/ce_rules_f1/Pneumonia": 0.5})
        assert "F1 Pneumonia" in self.panels(unknown)  # under LEAST in training

    def test_groups_without_any_reward_are_drawn(self) -> None:
        phased = history().assign(**{"groups/all_zero_share": [0.3, 0.2, 0, 0, 0]})
        assert "groups without any clinical reward" in self.panels(phased)
        assert "groups without any clinical reward" not in self.panels(
            phased.assign(**{"groups/all_zero_share": 0.0})
        )

    def test_margin_of_an_oracle_is_drawn_in_its_halves(self) -> None:
        mixed = history().assign(
            **{"oracle/margin": 0.3, "oracle/reference_gain": 0.5, "oracle/rollout_loss": -0.2}
        )
        panels = self.panels(mixed)
        halves = [
            panels[f"{half}, nats a token"] for half in ("gain of the references", "loss of the rollouts")
        ]
        assert [panel.lines[-1].get_ydata()[-1] for panel in halves] == pytest.approx([0.5, -0.2])
        assert not [title for title in panels if title.startswith("margin")]

    def test_no_curve_is_said_in_words(self) -> None:
        drawn, _ = nodes.draw_curves({}, LABELS)
        assert [text.get_text() for text in drawn.texts] == ["no arm trained"]

    def test_two_runs_give_the_same_bytes(self) -> None:
        drawn = {nodes.draw_curves({"grpo": watched()}, LABELS)[1] for _ in range(2)}
        assert len(drawn) == 1


class TestFindings:
    def test_they_are_printed_under_the_table_by_arm(
        self, comparison: pd.DataFrame, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        nodes.show_findings(comparison, {"grpo": history(), "far": history().assign(kl=0.9)}, {})
        printed = " ".join(capsys.readouterr().out.split())
        # of five updates two are in the last third
        ended = "not told whether it has levelled off: 2 updates in the last third of 5 updates, where 4 are"
        assert printed.startswith(f"grpo: {ended} needed (reward) far: {ended} needed (reward) ")
        assert printed.endswith("Raise training.kl, or lower training.learning_rate or training.steps.")
        assert "far: kl_blow_up (warning, steps 1 to 5): KL to the start is 0.90 nats a token" in printed

    def test_they_are_on_the_page(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        arms = {"sft": sft, "grpo": grpo}
        assert "<strong>grpo</strong>: nothing stands out." in page(comparison, arms, corpus)
        text = page(comparison, arms, corpus, curve=history().assign(kl=0.9))
        assert "<strong>grpo</strong>, warning, steps 1 to 5: <code>kl_blow_up</code>" in text
        assert "Raise training.kl" in text


class TestLevelledOff:
    STEPS = np.arange(13) * 5
    RISING = pd.DataFrame({"step": STEPS, "watch/ce_rules_sample14_f1": STEPS / 1000})
    SAID = "still rising at the end: +0.060 in 60 updates, standard error 0.000"

    def test_it_is_printed_a_line_an_arm(
        self, comparison: pd.DataFrame, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        level = self.RISING.assign(
            **{"watch/ce_rules_sample14_f1": 0.4, "learning_rate": 1e-4 / (1 + self.STEPS)}
        )
        nodes.show_findings(comparison, {"grpo": self.RISING, "level": level}, {})
        printed = capsys.readouterr().out.splitlines()
        assert printed[1] == f"grpo: {self.SAID} (sample F1 on the watched films, 5 looks)"
        assert printed[2].startswith("level: level at the end (under a falling rate): +0.000 in 60 updates")
        assert printed[4].startswith("grpo: still_rising (note, steps 40 to 60):")

    def test_it_is_on_the_page_and_the_card(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        tmp_path: Path,
    ) -> None:
        arms = {"sft": sft, "grpo": grpo}
        text = page(comparison, arms, corpus, curve=self.RISING)
        assert (
            f"<li><strong>grpo</strong>: {self.SAID} (sample F1 on the watched films, 5 looks).</li>" in text
        )
        assert "<code>still_rising</code>" in text
        cards(comparison, gathering.gather_reports(**arms), {"grpo": self.RISING})(tmp_path)
        assert f"| at its end | {self.SAID} (" in (tmp_path / "grpo.md").read_text()
        assert "at its end" not in (tmp_path / "sft.md").read_text()


class TestExamples:
    def test_every_verdict(self) -> None:
        known = dict.fromkeys(OBSERVATIONS, BLANK) | {
            "Edema": POSITIVE, "Fracture": POSITIVE, "Atelectasis": UNCERTAIN, "Pneumonia": NEGATIVE,
            "Pneumothorax": NEGATIVE,
        }  # fmt: skip
        said = dict.fromkeys(OBSERVATIONS, BLANK) | {
            "Edema": POSITIVE, "Atelectasis": POSITIVE, "Pneumonia": UNCERTAIN, "Pneumothorax": NEGATIVE,
        }  # fmt: skip
        texts = {"sample_id": "f0", "reference": "", "report": ""}
        labels = {"reference_labels": list(known.values()), "labels": list(said.values())}
        _, answer = examples.show("f0", [], {"sft": pd.DataFrame([texts | labels])}).answers
        verdicts = {chip.observation: chip.verdict for chip in answer.chips}
        expected = {"Edema": "right", "Fracture": "missed", "Atelectasis": "hedged", "Pneumonia": "wrong"}
        assert verdicts == expected

    def test_films_are_drawn_by_the_seed_alone(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        drawn = draw_films({"sft": sft}, count=3, seed=1)
        assert drawn == draw_films({"grpo": grpo}, count=3, seed=1)
        assert drawn == sorted(set(drawn))
        assert {tuple(draw_films({"sft": sft}, count=3, seed=seed)) for seed in range(20)} != {tuple(drawn)}
        assert len(draw_films({"sft": sft}, count=100, seed=0)) == len(sft)

    def test_large_film_is_made_small(self, sft: pd.DataFrame) -> None:
        film = io.BytesIO()
        Image.new("L", (900, 1200)).save(film, format="PNG")
        small = examples.show("f0", [film.getvalue()] * 2, {"sft": sft})
        assert len(small.pictures) == 2
        assert small.pictures[0].startswith("data:image/png;base64,")
        assert len(small.pictures[0]) < 2000
        assert [answer.arm for answer in small.answers] == [None, "sft"]
        assert [chip.observation for chip in small.answers[0].chips] == ["Pleural Effusion"]


class TestPage:
    @pytest.fixture
    def text(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> str:
        return page(comparison, {"sft": sft, "grpo": grpo}, corpus)

    def test_it_needs_nothing_from_elsewhere(self, text: str) -> None:
        sources = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", text)
        assert sources
        beside = [source for source in sources if not source.startswith(("data:", "#"))]
        assert len(beside) == text.count("<script") == 1
        assert re.fullmatch(r"runs/[0-9a-f]{16}\.js", beside[0])  # it stands without
        assert not re.search(r"<(link|iframe|object)\b|@import", text)

    def test_boxes_of_the_corpus_are_drawn_on_the_film_with_what_they_show(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, text: str
    ) -> None:
        box = {"sentence": "Small <left> effusion.", "left": 0.5, "top": 0.25, "right": 0.75, "bottom": 1.0}
        rows = [row | {"boxes": [box]} for row in corpus.to_table().to_pylist()]
        shown = page(comparison, {"sft": sft, "grpo": grpo}, ds.dataset(pa.Table.from_pylist(rows)))
        styles = re.findall(r'class="box" [^>]*style="([^"]*)"', shown)
        assert len(styles) == shown.count('<article class="film"') > 0
        assert {*styles} == {"left:50.0%;top:25.0%;width:25.0%;height:75.0%"}
        assert "<li>Small &lt;left&gt; effusion.</li>" in shown
        assert 'class="box"' not in text

    def test_it_says_which_data_it_speaks_of(self, text: str) -> None:
        assert "They say nothing about patients." in text
        assert "not comparable" in text

    def test_it_says_what_the_data_allow_and_what_is_wrong_with_them(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        crossed = {"source": "mimic_cxr", "drawn": False, "patients_in_two_splits": 3}
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus, ingested=crossed)
        assert "They say nothing about patients." not in text
        assert "may not be passed on" in text
        assert "3 patients stand in two splits" in text
        leaks = {"source": "csv", "context": {"warnings": ["warning: the indication states the finding"]}}
        assert "warning: the indication states" in page(
            comparison, {"sft": sft, "grpo": grpo}, corpus, ingested=leaks
        )
        drawn = page(comparison, {"sft": sft, "grpo": grpo}, corpus, ingested={"source": "iu_xray"})
        assert "They say nothing about patients." in drawn
        assert "iu_xray, films drawn" in drawn

    @pytest.mark.parametrize(
        ("credit", "oracle", "said"),
        [
            ("uniform", {"momentum": 0.5, "per": "prompt"}, ", uniform credit, OraPO's oracle"),
            ({"tf_idf": {"alpha": 4.0}}, "none", ", tf_idf credit"),
        ],
    )
    def test_an_arm_is_named_by_its_credit_and_oracle(self, credit: Any, oracle: Any, said: str) -> None:
        arm = {"start": "sft", "reward": {"ce_f1": {"weight": 1.0}}, "credit": credit, "oracle": oracle}
        assert describe_row("arm", {"arm": arm}) == f"sft → reward ce_f1, full selection{said}"

    def test_arms_rewarded_for_facts_show_them_label_by_label(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        arms, known = {"sft": sft, "grpo": grpo}, {"uncertain_as_positive": False, "beta": 1.5}
        assert "by rules, a label a line" not in page(comparison, arms, corpus)
        judge = {"weight": 1.0, "extractor": "judge", "entailment": "judge", **known}  # nobody asks it here
        monkeypatch.setitem(ARMS, "grpo", ARMS["grpo"] | {"reward": {"facts": judge}})
        text = page(comparison, arms, corpus)
        caption = "by rules, a label a line; in training by what the arm's reward names"
        assert text.count(caption) == COMPARE["examples"]
        shown = re.findall(r'<p class="id">(\w+)</p>', text)
        found = read_facts(arms, ARMS, shown)
        assert found.keys() == {"grpo"}
        lines = [line for own in found["grpo"].values() for line in own]
        assert {line.verdict for line in lines} > {"supported"}
        for line in lines:
            assert f"<td>{line.verdict}</td>" in text
            assert escape("; ".join(line.facts)) in text

    def test_arms_scored_by_weighted_findings_show_what_each_finding_costs(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        caption = "what each costs, and the words it was read from; by rules"
        assert caption not in page(comparison, {"sft": sft, "grpo": grpo}, corpus)
        texts = sft["reference_label_text"], sft["report_label_text"]
        lines = WeightedFindings().explained(*(side.tolist() for side in texts))
        scored = sft.assign(**lines)
        text = page(comparison, {"sft": scored, "grpo": grpo}, corpus)
        shown = re.findall(r'<p class="id">(\w+)</p>', text)
        assert text.count(caption) == len(shown)  # of the one arm that was scored so
        found = weigh_findings({"sft": scored, "grpo": grpo}, shown)
        assert found.keys() == {"sft"}
        rows = [row for own in found["sft"].values() for row in own]
        assert {"matched", "missed"} & {row["kind"] for row in rows}
        for row in rows:
            words = f"{row['reference_words'] or '–'}</td><td>{row['hypothesis_words'] or '–'}"
            assert f"<td>{row['kind']}</td><td>{row['cost']:.3f}</td>" in text
            assert words in text

    def test_it_says_how_texts_were_cleaned(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        cleaned = {"cleaning": "r2gen_iu", "max_report_words": 60}
        assert "r2gen_iu, cut after 60 words" in page(
            comparison, {"sft": sft, "grpo": grpo}, corpus, scoring=cleaned
        )

    def test_it_shows_arms_values_labels_and_parameters(self, text: str, comparison: pd.DataFrame) -> None:
        value = at(comparison, "grpo", "ce_rules_micro5_f1")["value"]
        assert f'<span class="value">{value:.3f}</span>' in text
        for shown in (
            "sft → reward ce_f1",
            "every label positive",
            "Pleural Effusion",
            "resamples: 200",
            "0.987",
        ):
            assert shown in text
        assert 'title="beaten by' in text
        headings = re.findall(r"<h3>(.*?) <code>(.*?)</code></h3>", text)
        assert headings == [
            ("Overlap of words", "nlg"),
            ("Clinical efficacy: agreement of labels, read by the labeler rules", "ce_rules"),
        ]
        assert len(re.findall(r'<article class="film"', text)) == COMPARE["examples"]

    def test_reports_without_a_value_are_counted(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, judge: Judge
    ) -> None:
        arms = {"sft": sft.assign(judge=0.4), "grpo": grpo.assign(judge=[0.5, np.nan, 0.7, 0.9, 0, 0, 1, 1])}
        asked = {"scoring": {"families": ["judge"]}, "metrics": ["judge"]}
        text = page(compared(arms, corpus, **asked), arms, corpus, **asked)
        assert text.count("without a value") == 1
        assert "<small>1 without a value</small>" in text

    def test_a_report_cannot_break_it(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        text = page(comparison, {"sft": sft, "grpo": grpo.assign(report=grpo["report"].iloc[-1])}, corpus)
        assert text.count("<script") == 1  # of the notes on the run
        assert "&lt;script&gt;" in text

    def test_its_tags_are_closed(self, text: str) -> None:
        checker = _Nesting()
        checker.feed(text)
        assert checker.open == []
        assert {"table", "figure", "svg", "article", "details"} <= checker.seen

    def test_two_runs_give_the_same_bytes(
        self, text: str, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        assert page(comparison, {"sft": sft, "grpo": grpo}, corpus) == text

    def test_it_is_the_same_from_the_saved_table(
        self, text: str, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        saved = pd.read_csv(io.StringIO(comparison.to_csv(index=False)))
        assert page(saved, {"sft": sft, "grpo": grpo}, corpus) == text


class _Nesting(HTMLParser):
    VOID = ("meta", "img", "wbr", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


@pytest.fixture
def as_shipped(few_are_enough: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "FEWEST_PATIENTS", 10)


@pytest.mark.usefixtures("as_shipped")
class TestFewPatients:
    SAID = "4 patients: too few for a test of films, which wants 10"

    def test_differences_have_no_p_and_no_mark(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset, capsys: pytest.CaptureFixture[str]
    ) -> None:
        comparison = compared({"sft": sft, "grpo": grpo}, corpus)
        line = at(comparison, "grpo", "ce_rules_micro5_f1")
        assert line["difference_low"] > 0
        assert line[["p", "p_randomisation", "p_holm"]].isna().all()
        assert line["patients"] == 4
        assert {place.mark for place in rank_rows(comparison, [], COMPARE).places} == {""}
        printed = " ".join(capsys.readouterr().out.split())
        assert f"{self.SAID}, so no difference has a mark or a p." in printed

    def test_the_first_sentence_puts_no_arm_above_another(self, comparison: pd.DataFrame) -> None:
        first = sentences(comparison, paired(comparison), [], COMPARE)[0].text
        assert first.endswith(f". {self.SAID}, so nothing here says which arm is above which.")
        assert "is above sft" not in first
        assert "not told apart" not in first

    def test_page_and_cards_say_why(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        tmp_path: Path,
    ) -> None:
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus)
        assert f"<p>{self.SAID}, so no difference has a mark or a p.</p>" in text
        assert "Holm’s p –" not in text
        assert not re.search(r'class="(up|down)"[^>]*title', text)
        cards(comparison, gathering.gather_reports(sft=sft, grpo=grpo), {})(tmp_path)
        assert self.SAID in (tmp_path / "grpo.md").read_text()

    def test_a_metric_over_fewer_films_is_named(self, comparison: pd.DataFrame) -> None:
        more = comparison["metric"] != "nlg_bleu2"
        some = comparison.assign(
            patients=comparison["patients"].mask(more & comparison["patients"].notna(), 12)
        )
        assert too_few_patients(some).startswith("4 patients on nlg_bleu2: too few")


class TestFewUpdates:
    @pytest.mark.parametrize(
        ("updates", "said"),
        [
            ([0, 2, 2], "2 updates an arm: this shows that the machinery runs; its figures mean nothing."),
            ([1], "1 update an arm: this shows"),
            ([0, 9], "9 updates an arm: this shows"),
            ([0, 2, 10], ""),
            ([0], ""),
            ([], ""),
        ],
    )
    def test_where_no_arm_had_ten_it_is_said(self, updates: list[int], said: str) -> None:
        assert too_few_updates(updates).startswith(said)
        assert bool(too_few_updates(updates)) == bool(said)

    @pytest.mark.parametrize("steps", [5, 10])
    def test_it_stands_above_the_page_and_the_card(
        self,
        steps: int,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        tmp_path: Path,
    ) -> None:
        arms, curve = {"sft": sft, "grpo": grpo}, history().assign(step=range(steps - 4, steps + 1))
        text = page(comparison, arms, corpus, curve=curve)
        cards(comparison, gathering.gather_reports(**arms), {"grpo": curve})(tmp_path)
        said = "5 updates an arm: this shows that the machinery runs; its figures mean nothing."
        assert (f'role="note">{said}</p>' in text) == (steps == 5)
        assert (f"**{said}**" in (tmp_path / "grpo.md").read_text()) == (steps == 5)
        assert "updates an arm" not in (tmp_path / "sft.md").read_text()


def test_published_results_are_the_papers_rows() -> None:
    results = pd.read_csv(Path(__file__).parents[2] / "conf" / "base" / "published_results.csv")
    assert set(results["paper"]) == {"DEER", "OraPO", "MRG-R1"}
    counts = results["metric"].isin(["unique_rewards", "seconds_per_image"])
    assert results.loc[~counts, "value"].between(0, 1).all()
    assert (results.loc[counts, "value"] >= 1).all()
    key = ["paper", "table", "dataset", "protocol", "method", "rl_train_size", "metric"]
    assert not results.duplicated(key).any()


OUTPUTS = (*REFERENCES[:4], NORMAL, NORMAL, NORMAL, NORMAL)
"""What another system wrote."""


def score(folder: Path, *options: str, outputs: Sequence[str] = OUTPUTS) -> Path:
    """Score another system's outputs for the arms' films, as one does on the command line."""
    table, scores = folder / "outputs.csv", folder / "maira.json"
    pd.DataFrame({"reference": REFERENCES[: len(outputs)], "hypothesis": outputs}).to_csv(table, index=False)
    asked = options or ("--metrics", ",".join(COMPARE["metrics"]), "--bootstrap", "50", "--no-meteor")
    done = CliRunner().invoke(cli, ["score", str(table), *asked, "--json", str(scores)])
    assert done.exit_code == 0, done.output
    return scores


NOTED = {
    "group": "best 1",
    "reward": 0.5,
    "rewards/ce_f1": 0.5,
    "prompt": "Describe.",
    "output": NORMAL,
    "reference": NORMAL,
}
NOTED |= dict.fromkeys(VERDICTS, "")


def run_stage(
    folder: Path, systems: Path, arms: dict[str, pd.DataFrame], corpus: ds.Dataset, *observers: Any
) -> DataCatalog:
    """Run the stage with its outputs in a folder, watched by hooks."""
    film = arms["sft"]["sample_id"].iloc[0]
    inputs: dict[str, Any] = {
        **{f"{arm}.per_report": reports for arm, reports in arms.items()},
        "sft.history": pd.DataFrame({"step": []}),
        "grpo.history": history(),
        "sft.watched_rollouts": rollouts.table([]),
        "grpo.watched_rollouts": rollouts.table([{"update": 1, "rollout": 0, "sample_id": film} | NOTED]),
        "published_results": pd.DataFrame(
            [("P", "1", "D", "macro", "M", None, "f1", 0.5)],
            columns=["paper", "table", "dataset", "protocol", "method", "rl_train_size", "metric", "value"],
        ),
        "seeds_results": SEEDS,
        "ingest_summary": INGESTED | {"source": "csv", "drawn": False},
        "ceilings": NO_CEILINGS,
        "systems": systems,
        "labeler_models": NO_MODELS,
        "selected": reads(LEFT),
        "params:training": SHIPPED["training"] | TRAINING,
        "labels": LABELS,
        "labeler_report": {"labeler": "rules"},
        "params:arms": {name: SHIPPED["arms"][name] for name in ARMS},
        "params:generate": SHIPPED["generate"],
        **{
            f"params:{name}": SHIPPED[name]
            for name in ("prompts", "policy", "sft", "rollouts", "selection", "ceilings")
        },
        "params:ingest": INGEST,
        "params:compare": COMPARE | {"systems": {"MAIRA 2": "maira.json"}},
        "params:eval": EVAL,
        "params:labeler": SHIPPED["labeler"],
        "params:seed": 0,
        "params:device": "cpu",
    }
    outputs = {
        "comparison": CSVDataset(filepath=str(folder / "comparison.csv"), save_args={"index": False}),
        "comparison_figure": MatplotlibDataset(filepath=str(folder / "metrics.png")),
        "curves_figure": MatplotlibDataset(filepath=str(folder / "curves.png")),
        "comparison_page": HtmlPage(filepath=str(folder / "comparison.html")),
        "comparison_cards": Folder(filepath=str(folder / "cards")),
        "rollout_pages": Folder(filepath=str(folder / "rollouts")),
    }
    catalog = DataCatalog({name: MemoryDataset(value) for name, value in inputs.items()} | outputs)
    catalog["corpus"] = MemoryDataset(corpus, copy_mode="assign")
    stage = create_pipeline(["sft", "grpo"])
    assert stage.inputs() == {*inputs, "corpus"}
    manager = _create_hook_manager()
    for one in observers:
        manager.register(one)
    told = {"conf_catalog": {}, "conf_creds": {}, "parameters": {}, "save_version": "", "load_versions": {}}
    manager.hook.after_catalog_created(catalog=catalog, **told)
    SequentialRunner().run(stage, catalog, hook_manager=manager)
    return catalog


def test_pipeline_makes_every_output(
    sft: pd.DataFrame,
    grpo: pd.DataFrame,
    corpus: ds.Dataset,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    systems = tmp_path_factory.mktemp("systems")
    score(systems)
    catalog = run_stage(tmp_path, systems, {"sft": sft, "grpo": grpo}, corpus)
    assert set(catalog["comparison"].load()["arm"]) >= {"sft", "grpo", "MAIRA 2"}
    assert "MAIRA 2 (not ours)" in catalog["comparison_page"].load()
    assert "a table of the user" in catalog["comparison_page"].load()
    assert {path.name for path in tmp_path.iterdir()} == {
        "comparison.csv", "metrics.png", "curves.png", "comparison.html", "cards", "rollouts",
    }  # fmt: skip
    # the arm that trained has a page of its rollouts, and the page leads there
    assert [path.name for path in (tmp_path / "rollouts").iterdir()] == ["grpo.html"]
    assert re.findall(r'href="(rollouts/.*?)"', catalog["comparison_page"].load()) == ["rollouts/grpo.html"]


def test_outputs_have_the_same_bytes_whoever_makes_them_and_whenever(
    sft: pd.DataFrame,
    grpo: pd.DataFrame,
    corpus: ds.Dataset,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Commit, machine, releases and minutes of two runs differ, in the stages before and in this one."""
    systems = tmp_path_factory.mktemp("systems")
    score(systems)
    runs = {"first": 60.0, "second": 180.0}
    for name, seconds in runs.items():
        root, origin = tmp_path / name, Origin(f"of-{name}", f"machine {name}", {"torch": name}, seconds / 60)
        root.mkdir()
        shutil.copy(Path(__file__).parents[2] / "pyproject.toml", root)  # names the stages
        cpu_seconds.note(root / "data" / cpu_seconds.FOLDER, "train@grpo", {cpu_seconds.OWN: seconds})
        run_costs.note_origin(root / "data" / run_costs.ORIGINS, "train@grpo", origin)
        monkeypatch.setattr(run_costs, "here", lambda _, origin=origin: origin)
        hooks = run_costs.CpuHooks()
        given = {"config_loader": {"globals": {"data": "data"}}, "project_path": root}
        hooks.after_context_created(SimpleNamespace(**given, params={"arms": ARMS, "selection": {"own": {}}}))
        (root / "outs").mkdir()
        run_stage(root / "outs", systems, {"sft": sft, "grpo": grpo}, corpus, hooks)
    one, other = (
        {
            path.relative_to(tmp_path / name / "outs").as_posix(): path.read_bytes()
            for path in (tmp_path / name / "outs").rglob("*")
            if path.is_file()
        }
        for name in runs
    )
    notes = [file for file in one if file.startswith("runs/")]
    assert len(notes) == 1
    assert {file for file in one | other if one.get(file) != other.get(file)} == {*notes}
    for name, took in {"first": "1.0", "second": "3.0"}.items():
        mailed = run_notes.with_notes(tmp_path / name / "outs" / "comparison.html")
        assert f"<td>{took}</td><td>{took}</td><td>of-{name}</td>" in mailed
        assert f"<dd>machine {name}</dd>" in mailed


class TestSeeds:
    METRIC = "ce_rules_sample14_f1"

    def shown(
        self,
        comparison: pd.DataFrame,
        results: pd.DataFrame = SEEDS,
        ingest: dict[str, Any] = INGEST,
        params: dict[str, Any] = SHIPPED,
    ) -> list[dict[str, Any]]:
        settings = COMPARE | {"metrics": [self.METRIC]}
        return nodes.show_seeds(
            comparison, results, ingest, settings, **{name: params[name] for name in DECIDING}
        )

    def test_page_and_terminal_say_what_one_seed_cannot_and_what_three_gave(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        lines = self.shown(comparison)
        given = {"metrics": [self.METRIC], "over_seeds": lines}
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus, **given)
        assert "They are no test of training" in text
        assert "What 3 seeds of the shipped parameters gave" in text
        assert "0.560 ± 0.020" in text
        assert "+0.060 (+0.020 to +0.100)" in text
        said = " ".join(capsys.readouterr().out.split())
        assert "They are no test of training" in said
        assert (
            "sft 0.500 ± 0.010 grpo 0.560 ± 0.020, +0.060 (+0.020 to +0.100) from sft, p 0.030 by Holm"
            in said
        )
        assert "constant_normal_report" not in said

    def test_other_films_have_the_caveat_alone(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        harder = INGEST | {"phantom": INGEST["phantom"] | {"severity": [2.0, 3.5]}}
        faster = INGEST | {"workers": 7}
        assert self.shown(comparison, ingest=faster)
        capsys.readouterr()
        assert self.shown(comparison, ingest=harder) == []
        said = capsys.readouterr().out
        assert "no test of training" in " ".join(said.split())
        assert "seeds of the shipped" not in said
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus, metrics=[self.METRIC])
        assert "They are no test of training" in text
        assert "No study over seeds is at hand" in text

    def test_another_reference_and_one_seed_have_none(self, comparison: pd.DataFrame) -> None:
        given = {"metric": self.METRIC, "rows": ["sft", "grpo"], "corpus": SEEDS["corpus"].iloc[0]}
        given["settings"] = row_digests(SHIPPED)
        assert len(summary.shipped_over_seeds(SEEDS, reference="sft", **given)) == 2
        assert summary.shipped_over_seeds(SEEDS, reference="grpo", **given) == []
        assert summary.shipped_over_seeds(SEEDS.assign(seeds=1), reference="sft", **given) == []
        assert summary.shipped_over_seeds(SEEDS.iloc[:0], reference="sft", **given) == []

    def test_the_shipped_table_is_told_of_arms_of_its_own_settings_alone(self, root: Path) -> None:
        table = pd.read_csv(root / "conf/base/seeds_results.csv")
        own = yaml.safe_load((root / "params.yaml").read_text())
        every = {*table.loc[table["metric"] == self.METRIC, "arm"]}
        comparison = pd.DataFrame({"arm": [*every], "metric": self.METRIC})

        def told(**changed: Any) -> set[str]:
            params, ingest = own | changed, own["ingest"]
            return {line["arm"] for line in self.shown(comparison, table, ingest, params)}

        assert told() == every >= {*own["arms"]}
        grpo = own["arms"]["grpo"] | {"training": {"steps": 7}}
        assert told(arms=own["arms"] | {"grpo": grpo}) == every - {"grpo"}
        # a difference from another cold start says nothing of this one
        assert told(sft=own["sft"] | {"epochs": 9}) == set()


class TestSystems:
    """Rows of other systems, from what `radrl score --json` wrote."""

    @staticmethod
    def read(
        folder: Path, sft: pd.DataFrame, scoring: dict[str, Any] | None = None, **compare: Any
    ) -> dict[str, System]:
        given = {"systems": {"MAIRA 2": "maira.json"}} | compare
        return nodes.read_systems(folder, {"sft": sft}, settled(scoring, given))

    @pytest.fixture
    def systems(self, tmp_path: Path, sft: pd.DataFrame) -> dict[str, System]:
        score(tmp_path)
        return self.read(tmp_path, sft)

    @pytest.fixture
    def beside(
        self, systems: dict[str, System], sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> pd.DataFrame:
        return compared({"sft": sft, "grpo": grpo}, corpus, systems=systems)

    def test_its_row_has_the_scores_of_the_file_and_those_of_its_reports(self, beside: pd.DataFrame) -> None:
        line = at(beside, "MAIRA 2", "ce_rules_sample14_f1")
        assert line["value"] == pytest.approx(scored([*OUTPUTS])["ce_rules_sample14_f1"].mean())
        assert line["low"] < line["value"] < line["high"]
        assert line["kind"] == "system"
        assert re.fullmatch(r"outputs\.csv \(sha256 [0-9a-f]{12}\), 8 reports", line["source"])
        assert pd.isna(line["differs"])
        assert list(dict.fromkeys(beside["arm"]))[:4] == ["sft", "grpo", "MAIRA 2", TRIVIAL[0]]

    def test_it_changes_nothing_of_the_other_rows(
        self, beside: pd.DataFrame, comparison: pd.DataFrame
    ) -> None:
        others = beside[beside["kind"] != "system"].drop(columns=["source", "differs"])
        pd.testing.assert_frame_equal(others.reset_index(drop=True), comparison, check_like=True)
        own = beside[beside["kind"] == "system"]
        assert own[["difference", "p", "p_holm", "beaten_by"]].isna().all(axis=None)

    def test_page_figure_and_terminal_mark_it_as_not_ours(
        self,
        beside: pd.DataFrame,
        systems: dict[str, System],
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        text = page(beside, {"sft": sft, "grpo": grpo}, corpus, systems=systems)
        assert text.count('<th scope="row">MAIRA 2 (not ours)') == 2  # by rules, and words
        assert "Rows that are not ours" in text
        checker = _Nesting()
        checker.feed(text)
        assert not checker.open
        saved = pd.read_csv(io.StringIO(beside.to_csv(index=False)))
        assert page(saved, {"sft": sft, "grpo": grpo}, corpus, systems=systems) == text
        assert "<strong>MAIRA 2</strong>: outputs.csv (sha256" in text
        assert "from maira.json; rules {" in text.replace("&#34;", '"')
        drawn = nodes.draw_comparison(beside, COMPARE)[0].axes[0]
        assert "MAIRA 2 (not ours)" in [label.get_text() for label in drawn.get_yticklabels()]
        compared({"sft": sft, "grpo": grpo}, corpus, systems=systems)
        said = " ".join(capsys.readouterr().out.split())
        assert "MAIRA 2 (not ours): outputs.csv (sha256" in said
        assert "tested against nothing" in said

    def test_a_page_without_such_rows_says_nothing_of_them(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        assert "not ours" not in page(comparison, {"sft": sft, "grpo": grpo}, corpus)

    def test_a_metric_that_the_file_lacks_is_blank_and_one_without_interval_has_none(
        self, tmp_path: Path, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        score(tmp_path, "--metrics", "nlg_bleu2,ce_rules_sample14_f1", "--no-meteor")
        systems = self.read(tmp_path, sft)
        found = compared({"sft": sft, "grpo": grpo}, corpus, systems=systems)
        lines = found[found["arm"] == "MAIRA 2"]
        assert lines["metric"].tolist() == ["nlg_bleu2", "ce_rules_sample14_f1"]
        assert lines[["low", "high"]].isna().all(axis=None)
        text = page(found, {"sft": sft, "grpo": grpo}, corpus, systems=systems)
        assert "the file has no such metric" in text
        assert "nan" not in text[text.index('<h2 id="arms">') : text.index('<h2 id="agreement">')].lower()

    def test_other_films_settings_and_texts_are_said(self, tmp_path: Path, sft: pd.DataFrame) -> None:
        options = ("--metrics", ",".join(COMPARE["metrics"]), "--preparation", "whitespace", "--no-meteor")
        score(tmp_path, *options, outputs=OUTPUTS[:5])
        (system,) = self.read(tmp_path, sft, {"cleaning": "r2gen_iu", "max_report_words": 60}).values()
        assert list(system.differs) == [
            "other films: 5 reports, the arms have 8",
            "words prepared by whitespace, the arms' by basic",
            "texts scored as they came, the arms' after a cleaning (eval.cleaning, eval.max_report_words)",
        ]

    def test_texts_that_were_cleaned_as_the_arms_are_no_difference(
        self, tmp_path: Path, sft: pd.DataFrame
    ) -> None:
        scores = json.loads(score(tmp_path).read_text())
        cleaned = {"cleaning": "r2gen_iu", "labels_of": "original", "max_report_words": 60}
        scores["settings"]["texts"] = cleaned
        (tmp_path / "maira.json").write_text(json.dumps(scores))
        (system,) = self.read(tmp_path, sft, cleaned).values()
        assert list(system.differs) == []
        (system,) = self.read(tmp_path, sft, cleaned | {"max_report_words": 100}).values()
        (said,) = system.differs
        assert said.startswith('texts cleaned by {"cleaning": "r2gen_iu"')
        assert said.endswith('"max_report_words": 100}')

    def test_as_many_reports_of_other_references_are_said(self, tmp_path: Path, sft: pd.DataFrame) -> None:
        scores = json.loads(score(tmp_path).read_text())
        scores["per_label"]["rules"][4]["support"] += 1
        scores["settings"]["rules"]["alternatives"] = "positive"
        (tmp_path / "maira.json").write_text(json.dumps(scores))
        (system,) = self.read(tmp_path, sft).values()
        first, second = system.differs
        assert first == "other films or references: rules reads other labels in them"
        assert second.startswith('rules read by {"alternatives": "positive"')

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (None, "has no 'maira.json'; did you mean 'maria.json'?"),
            ("{", "holds no scores of `radrl score --json`"),
            ("[]", "holds no scores of `radrl score --json`"),
            ('{"metrics": {}}', "holds no scores of `radrl score --json`"),
            ("nlg_cider", "has no metric of compare.metrics, but nlg_cider"),
        ],
        ids=["missing", "no JSON", "no mapping", "another form", "other metrics"],
    )
    def test_a_file_that_is_no_good_is_named_with_the_mend(
        self, tmp_path: Path, sft: pd.DataFrame, text: str | None, said: str
    ) -> None:
        if text is None:
            (tmp_path / "maria.json").touch()
        elif text.startswith("nlg"):
            score(tmp_path, "--metrics", text)
        else:
            (tmp_path / "maira.json").write_text(text)
        with pytest.raises(ParamsError) as refused:
            self.read(tmp_path, sft)
        assert str(refused.value).startswith("compare.systems.MAIRA 2: ")
        assert said in str(refused.value)
        assert f"`radrl score OUTPUTS --metrics {','.join(COMPARE['metrics'])} --json {tmp_path}" in str(
            refused.value
        )

    def test_the_name_of_another_row_is_refused(
        self, systems: dict[str, System], sft: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        named = {"every_label_positive": systems["MAIRA 2"]}
        with pytest.raises(ValueError, match=r"compare\.systems\.every_label_positive: the table has a row"):
            compared({"sft": sft}, corpus, systems=named)


class TestFirstScreen:
    """What came out, before anything else: three sentences and all rows in one plot."""

    METRIC = "ce_rules_sample14_f1"
    SETTINGS = COMPARE | {"metrics": [METRIC]}

    def test_sentences_say_what_is_decided_and_by_what(self, comparison: pd.DataFrame) -> None:
        films, trivial, once = sentences(comparison, paired(comparison), [], self.SETTINGS)
        assert films.text.startswith("grpo stands highest of 2 arms on ce_rules_sample14_f1 with ")
        assert "over patients" in films.text
        assert "The best row that needs none, " in trivial.text
        assert "trained once, and intervals over patients are no test of training" in once.text
        *_, again = sentences(
            comparison, paired(comparison), SEEDS.iloc[:2].to_dict("records"), self.SETTINGS
        )
        assert again.text.startswith(
            "Trained with 3 seeds, grpo is above sft by Holm’s p over seeds, while the lead"
        )

    def test_a_row_without_a_model_that_beats_every_arm_is_said(self, comparison: pd.DataFrame) -> None:
        better = comparison.copy()
        row = (better["arm"] == "nearest_training_film") & (better["metric"] == self.METRIC)
        better.loc[row, "value"] = 0.99
        _, trivial, _ = sentences(better, paired(better), [], self.SETTINGS)
        assert "nearest training film, reaches 0.990: " in trivial.text
        assert "such a row beats every arm on " in trivial.text
        assert self.METRIC in trivial.text

    def test_all_rows_stand_in_one_plot_the_highest_first(self, comparison: pd.DataFrame) -> None:
        ranking = rank_rows(comparison, SEEDS.iloc[:2].to_dict("records"), self.SETTINGS)
        values = [place.line["value"] for place in ranking.places]
        assert values == sorted(values, reverse=True)
        assert {place.line["arm"] for place in ranking.places} == {*comparison["arm"]}
        assert all(0 <= ranking.position(value) <= 100 for value in values)
        assert ranking.seeds == 3
        assert float(ranking.ticks[0]) <= min(values) <= max(values) <= float(ranking.ticks[-1])

    @pytest.mark.parametrize(
        ("width", "how"),
        [(1366, {}), (420, {}), (1366, {"color_scheme": "dark"}), (420, {"color_scheme": "dark"})],
    )
    def test_a_browser_shows_it_without_an_error(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
        width: int,
        how: dict[str, Any],
    ) -> None:
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus, metrics=[self.METRIC])
        assert len(text) < 5_000_000
        (tmp_path / "page.html").write_text(text)
        run_notes.write(tmp_path / "page.html", {})
        with browser.visit(chromium, width, **how) as one:
            one.page.goto((tmp_path / "page.html").as_uri())
            assert one.page.locator("table.rank tbody tr").count() == comparison["arm"].nunique() + 1
            assert one.overflow() <= 0
            one.page.emulate_media(media="print")
            kept = one.page.eval_on_selector(".track", "bar => getComputedStyle(bar).printColorAdjust")
            assert kept == "exact"
            paper = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == "rgb(255, 255, 255)"
            assert one.errors == []
            assert one.abroad == []


class TestContents:
    """The list of sections, and what a browser does with a link of it."""

    def test_it_names_every_section_in_order(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        arms = {"sft": sft, "grpo": grpo}
        text = page(comparison, arms, corpus)
        (listed,) = re.findall(r'<nav class="contents".*?</nav>', text, re.DOTALL)
        links = re.findall(r'<a href="#(\w+)">(.*?)</a>', listed)
        assert links == re.findall(r'<h2 id="(\w+)"><a href="#\w+">(.*?)</a></h2>', text)
        assert text.count("<h2") == len(links) == len(CONTENTS)
        assert "#cases" not in page(comparison, arms, corpus, examples=0)

    def test_a_browser_goes_there(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        (tmp_path / "page.html").write_text(page(comparison, {"sft": sft, "grpo": grpo}, corpus))
        run_notes.write(tmp_path / "page.html", {})
        with browser.visit(chromium) as one:
            one.page.goto((tmp_path / "page.html").as_uri())
            for name in ("agreement", "diversity", "cases"):
                one.page.click(f'nav.contents a[href="#{name}"]')
                top = one.page.evaluate(f"document.getElementById('{name}').getBoundingClientRect().top")
                assert 0 <= top < 100
            signs = one.page.eval_on_selector_all(
                "mark", "all => all.map(one => [one.className, getComputedStyle(one, '::before').content])"
            )
            shown = {"right": "✓", "missed": "−", "wrong": "+", "hedged": "~"}
            assert {kind for kind, _ in signs} > {"right"}
            assert all(sign == f'"{shown[kind]}"' for kind, sign in signs if kind in shown)
            assert one.errors == []


class TestAgreement:
    """Precision against recall."""

    def test_values_are_those_of_pooled_labels(self, sft: pd.DataFrame, grpo: pd.DataFrame) -> None:
        found = agreement_of({"sft": sft, "grpo": grpo}).set_index("arm")
        truth, said = (np.stack(grpo[side].to_list()) == POSITIVE for side in ("reference_labels", "labels"))
        assert found.loc["grpo", "precision"] == pytest.approx((truth & said).sum() / said.sum())
        assert found.loc["grpo", "recall"] == pytest.approx((truth & said).sum() / truth.sum())
        assert found.loc["every_label_positive", "recall"] == 1.0
        assert found["kind"].to_dict() == {"sft": "arm", "grpo": "arm", "every_label_positive": "trivial"}

    def test_the_stage_gives_every_row_whatever_the_table_shows(
        self, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        arms, settings = {"sft": sft, "grpo": grpo}, settled(None, {"metrics": ["nlg_bleu2"]})
        *_, found = nodes.compare_arms(arms, NO_CEILINGS, corpus, NO_MODELS, {}, settings)
        assert found["arm"].tolist() == ["sft", "grpo", *TRIVIAL, "reference_report"]
        assert found["kind"].tolist() == ["arm"] * 2 + ["trivial"] * 4 + ["ceiling"]

    def test_rows_stand_at_their_values_over_lines_of_equal_f1(
        self, sft: pd.DataFrame, grpo: pd.DataFrame
    ) -> None:
        found = agreement_of({"sft": sft, "grpo": grpo})
        look = figures.row_looks(found, ["grpo"])
        (panel,) = figures.draw_agreement(found, look).axes
        drawn = {line.get_gid(): line.get_xydata()[0] for line in panel.lines if line.get_gid()}
        for row in found.to_dict("records"):
            assert drawn[f"row-{row['arm']}"] == pytest.approx([row["recall"], row["precision"]])
        curves_of_f1 = [line.get_xydata() for line in panel.lines if not line.get_gid()]
        assert len(curves_of_f1) == 4
        for points in curves_of_f1:
            f1 = 2 * points.prod(axis=1) / points.sum(axis=1)
            assert np.ptp(f1) < 1e-9
        assert len({(own.marker, own.colour) for own in look.values()}) == len(found)
        assert look["every_label_positive"].hollow

    def test_the_near_view_has_the_arms_that_are_not_below(self) -> None:
        values = {"low": (0.1, 0.1), "sft": (0.6, 0.5), "grpo": (0.7, 0.55)}
        found = pd.DataFrame(
            [
                {"arm": arm, "kind": "arm", "precision": p, "recall": r, "f1": 2 * p * r / (p + r)}
                for arm, (p, r) in values.items()
            ]
        )
        (panel,) = figures.draw_agreement(found, figures.row_looks(found, []), least="sft").axes
        (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
        seen = [arm for arm, (p, r) in values.items() if left < r < right and low < p < high]
        assert seen == ["sft", "grpo"]


class TestCases:
    """Findings marked in the texts of the reports."""

    def test_right_wrong_and_missed_stand_where_the_text_says_so(self) -> None:
        reference = scored([f"{EDEMA} {EFFUSION}"] * len(REFERENCES)).assign(
            reference=f"{EDEMA} {EFFUSION}",
        )
        labels = build_labeler(LABELER).label([f"{EDEMA} {EFFUSION}"])[0]
        text = "There is pulmonary edema. No pleural effusion. There is a rib fracture. The heart is fine."
        said = build_labeler(LABELER).label([text])[0]
        frame = reference.assign(
            reference_labels=[labels] * len(reference), report=text, labels=[said] * len(reference)
        )
        shown = mark_case(examples.show("f0", [film("")], {"sft": frame}), alternatives=UNCERTAIN)
        (reading,) = shown.readings
        assert "".join(piece.text for piece in reading.pieces) == text
        marks = {piece.text: piece.verdict for piece in reading.pieces if piece.verdict}
        assert list(marks.values()) == ["right", "missed", "wrong"]
        assert "effusion" in next(text for text, verdict in marks.items() if verdict == "missed")
        assert {piece.verdict for piece in shown.reference.pieces} == {"", "stated"}

    def test_a_report_of_several_arms_is_shown_once(self, sft: pd.DataFrame) -> None:
        shown = mark_case(examples.show("f0", [film("")], {"sft": sft, "same": sft}), alternatives=UNCERTAIN)
        assert [reading.arms for reading in shown.readings] == [["sft", "same"]]

    def test_a_text_without_mentions_is_whole_and_an_empty_one_nothing(self) -> None:
        assert [piece.text for piece in mark_phrases("Nothing here.", [], {})] == ["Nothing here."]
        assert mark_phrases("", [], {}) == []

    def test_texts_cannot_break_out_of_their_marks(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        text = '</mark><img src=x onerror="alert(1)"> There is pulmonary edema" & <b>effusion</b>.'
        labels = build_labeler(LABELER).label([text])[0]
        hostile = sft.assign(report=text, report_label_text=text, labels=[labels] * len(sft))
        shown = page(comparison, {"sft": sft, "grpo": hostile}, corpus)
        assert "<img src=x" not in shown
        assert "<b>effusion" not in shown
        assert "&lt;/mark&gt;&lt;img src=x onerror=&#34;" in shown
        assert re.search(r'<mark class="\w+" data-sign="." title="[\w :,]+">edema</mark>', shown)


class TestHostileTexts:
    """Reports with markup, templates and formulas: what is opened shows them and runs nothing."""

    TEXTS = ("<script>document.title = 'run'</script>", "<img src=x onerror=\"document.title = 'run'\">",
             "=cmd|' /C calc'!A0", "{{ 7 * 7 }}{% raw %}")  # fmt: skip

    def hostile(self, frame: pd.DataFrame) -> pd.DataFrame:
        texts = [" ".join(self.TEXTS)] * len(frame)
        columns = ("report", "reference", "report_label_text", "reference_label_text")
        return frame.assign(**dict.fromkeys(columns, texts), patient_id=[*texts[:-1], "another"])

    def test_a_browser_shows_them_and_runs_nothing(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        file = tmp_path / "page.html"
        file.write_text(page(comparison, {"sft": self.hostile(sft), "grpo": self.hostile(grpo)}, corpus))
        run_notes.write(file, {"run": escape(self.TEXTS[0])})
        for text in (file.read_text(), run_notes.with_notes(file)):
            (tmp_path / "shown.html").write_text(text)
            with browser.visit(chromium) as one:
                one.page.goto((tmp_path / "shown.html").as_uri())
                shown = one.page.inner_text(".answers .text >> nth=0")
                assert all(own in shown for own in self.TEXTS)
                assert one.page.title() == "radrl: comparison of arms"
                assert one.page.locator("img[src=x]").count() == 0
                assert one.errors == []

    def test_the_browser_is_forbidden_what_the_page_does_not_need(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        """Were a text not escaped, neither its script nor its request would go through."""
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus)
        inserted = "".join(self.TEXTS[:2]) + '<img src="https://example.org/a.png">'
        (tmp_path / "page.html").write_text(text.replace("<main>", f"<main>{inserted}"))
        with browser.visit(chromium) as one:
            one.page.goto((tmp_path / "page.html").as_uri())
            assert one.page.title() == "radrl: comparison of arms"
            assert one.abroad == []
            assert any("Content Security Policy" in error for error in one.errors)

    def test_cards_hold_no_report(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, tmp_path: Path
    ) -> None:
        plain, hostile = tmp_path / "plain", tmp_path / "hostile"
        for folder, arms in {plain: (sft, grpo), hostile: (self.hostile(sft), self.hostile(grpo))}.items():
            folder.mkdir()
            cards(comparison, dict(zip(("sft", "grpo"), arms, strict=True)), {"grpo": history()})(folder)
        assert (plain / "grpo.md").read_text() == (hostile / "grpo.md").read_text()

    def test_the_name_of_a_scored_file_is_no_formula_in_the_table(self) -> None:
        source = {"file": "=cmd|x.csv", "sha256": "0" * 64, "reports": 8}
        one = System("maira.json", source, {"nlg_bleu2": {"value": 0.5}}, {}, {})
        (line,) = system_lines({"MAIRA 2": one}, ["nlg_bleu2"])
        assert line["source"].startswith("'=cmd|x.csv")


class TestChosen:
    """Which films the selections took, and how diverse what arms write is."""

    def test_subsets_are_told_with_their_arms_diversity_and_share_of_each_tenth(self) -> None:
        found = {subset.name: subset for subset in counted_chosen(LEFT)}
        assert list(found) == ["full", "ddsampling", "most_diverse", "random", "balanced"]
        assert found["full"].arms == ["grpo"]
        assert found["full"].taken == [1.0] * 10
        assert found["most_diverse"].diversity == pytest.approx(1.85)
        assert found["most_diverse"].taken == [0.0] * 9 + [1.0]
        assert found["ddsampling"].taken == [0, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0, 0.5]
        assert found["random"].shares["Edema"] == found["random"].labels == 0.5

    def test_without_scores_of_rollouts_counts_are_told_alone(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        none = diverse(0)
        (first, *_) = counted_chosen(LEFT | {"diversity": none})
        assert first.diversity is None
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus, diversity=none)
        assert "share of the training films" not in text.lower()
        assert "<td>20</td><td>–</td>" in text

    def test_a_stage_that_no_arm_waited_for_is_not_looked_at(self) -> None:
        """A study without rollouts, or one whose stage may run at any time."""
        plain = counted_chosen(LEFT, {"grpo": ARMS["grpo"]})
        assert [subset.name for subset in plain] == ["full", "random", "balanced"]
        assert all(subset.diversity is None and not subset.taken for subset in plain)
        assert counted_chosen(LEFT, {}) == counted_chosen({}) == []

    def test_the_figure_has_a_line_a_subset(self) -> None:
        subsets = [own for own in counted_chosen(LEFT) if min(own.taken) < 1]
        (panel,) = figures.draw_selection_shares(subsets).axes
        assert [line.get_label() for line in panel.lines] == [own.name for own in subsets]
        assert panel.lines[1].get_ydata()[-1] == 1.0

    def test_reports_and_rollouts_are_counted(self, sft: pd.DataFrame) -> None:
        steps = pd.DataFrame({"step": range(20), "entropy": np.linspace(2, 1, 20)})
        found = training.output_diversity({"sft": sft, "other": sft}, {"other": steps})
        assert found["sft"].distinct == 2 / 8
        assert found["sft"].commonest == 7 / 8
        assert found["sft"].course == {}
        assert found["other"].course["entropy"] == pytest.approx((1.974, 1.026), abs=1e-3)


class TestHowItWasMade:
    """What a page says of its inputs, and what stands beside it, for it differs from run to run."""

    SLOTS: ClassVar = {
        "run": '<div class="made"><dt>Commit</dt><dd>0123456789</dd></div>',
        "run-training": "<p>9.9 s</p>",
    }

    def test_what_follows_from_the_inputs_stands_in_the_page(
        self, comparison: pd.DataFrame, sft: pd.DataFrame, grpo: pd.DataFrame, corpus: ds.Dataset
    ) -> None:
        text = page(comparison, {"sft": sft, "grpo": grpo}, corpus)
        facts = dict(re.findall(r'<div class="made"><dt>(.*?)</dt><dd>(.*?)</dd>', text))
        # 5 updates by 2 a batch are 3 batches, of 8 films by 4 rollouts
        assert facts == {
            "Rollouts an arm": "96",
            "Seed": "0",
            "Digest of the scored films": gathering.films_digest(sft),
        }
        assert "<td>5</td><td>96</td></tr>" in text

    def test_without_notes_the_page_says_so(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        file = tmp_path / "page.html"
        file.write_text(page(comparison, {"sft": sft, "grpo": grpo}, corpus))
        with browser.visit(chromium) as one:
            one.page.goto(file.as_uri())
            assert "is not recorded beside this copy" in one.page.inner_text("#run")
            assert "are not recorded beside this copy" in one.page.inner_text("#run-training")
            assert one.errors == ["Failed to load resource: net::ERR_FILE_NOT_FOUND"]

    def test_a_browser_reads_the_notes_beside_it_and_those_of_no_other_page(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        arms, file = {"sft": sft, "grpo": grpo}, tmp_path / "page.html"
        file.write_text(page(comparison, arms, corpus))
        run_notes.write(file, self.SLOTS)
        with browser.visit(chromium) as one:
            one.page.goto(file.as_uri())
            assert "0123456789" in one.page.inner_text("dl.facts")
            assert "9.9 s" in one.page.inner_text("main")
            assert "beside this copy" not in one.page.inner_text("body")
            assert one.errors == []
            file.write_text(page(comparison, arms, corpus, examples=0))
            one.page.goto(file.as_uri())
            assert "0123456789" not in one.page.inner_text("body")

    def test_a_copy_with_its_notes_inside_needs_no_script(
        self,
        comparison: pd.DataFrame,
        sft: pd.DataFrame,
        grpo: pd.DataFrame,
        corpus: ds.Dataset,
        chromium: Any,
        tmp_path: Path,
    ) -> None:
        file, mailed = tmp_path / "page.html", tmp_path / "elsewhere" / "page.html"
        file.write_text(page(comparison, {"sft": sft, "grpo": grpo}, corpus))
        run_notes.write(file, self.SLOTS)
        mailed.parent.mkdir()
        mailed.write_text(run_notes.with_notes(file))
        with browser.visit(chromium, java_script_enabled=False) as one:
            one.page.goto(mailed.as_uri())
            assert "0123456789" in one.page.inner_text("dl.facts")
            assert "9.9 s" in one.page.inner_text("main")
            assert one.page.locator("script").count() == 0
            assert one.errors == []

    def test_the_digest_is_of_films_patients_and_references(
        self, sft: pd.DataFrame, grpo: pd.DataFrame
    ) -> None:
        digest = gathering.films_digest(sft)
        assert re.fullmatch(r"[0-9a-f]{12}", digest)
        assert digest == gathering.films_digest(grpo.iloc[::-1])
        for column in ("sample_id", "patient_id", "reference"):
            assert gathering.films_digest(sft.assign(**{column: [*sft[column][:-1], "another"]})) != digest

    def test_rollouts_are_those_of_the_batches(self) -> None:
        arms = {"a": {"training": {"rollouts": 6, "iterations": 1}}, "b": {}}
        told = nodes.count_rollouts({"a": history()}, TRAINING, arms)
        assert told["a"].rollouts == 5 * 8 * 6
        assert told["b"].rollouts == 0

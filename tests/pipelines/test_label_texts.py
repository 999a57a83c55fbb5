"""A slash that a paper's cleaning removes: who reads the text before it, stage by stage."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import yaml
from small_arms import MIXING, train_stage

from radrl.data.admission import CORPUS
from radrl.data.ingest import ingest
from radrl.data.study import Record
from radrl.evaluation.baselines import NORMAL_REPORT
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import BLANK, INDEX, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.params.data import Ingest
from radrl.pipelines.analyses import groups as rollout_groups
from radrl.pipelines.compare.rows import all_rows
from radrl.pipelines.compare.scores import build_groups, score_rows
from radrl.pipelines.eval import score_reports
from radrl.pipelines.label import label_reports
from radrl.pipelines.labeler import check_labelers
from radrl.pipelines.scored_texts import in_both_forms, texts_of
from radrl.reports.cleaning import clean
from radrl.rewards.bleu2 import Bleu2
from radrl.rewards.build import build as build_reward
from radrl.scoring import Texts
from radrl.scoring.build import FunctionMetric
from radrl.training.watching.watch import draw_sample

SLASHED: Final = "Right base scarring/atelectasis."
FUSED: Final = "right base scarringatelectasis ."
ATELECTASIS: Final = INDEX["Atelectasis"]
LABELER: Final = {
    "name": "rules",
    "rules": {"alternatives": "uncertain", "other_findings": False},
    "compact": None,
}
EVAL: Final = {
    "families": ["ce", "nlg", "radgraph_rules", "green_rules"],
    "cleaning": "r2gen_iu",
    "labels_of": "original",
    "max_report_words": None,
    "labelers": ["rules"],
    "nlg": {"preparation": "whitespace", "meteor": False},
}


def corpus_of(texts: Sequence[str], *, gold: tuple[int, ...] | None = None, **rules: Any) -> ds.Dataset:
    """What ingest makes of reports under R2Gen's cleaning, a film of noise each."""
    noise = np.random.default_rng(0)
    records = [
        Record(
            key=str(number),
            study_id=f"s{number}",
            patient_id=f"p{number}",
            image=noise.integers(0, 256, (24, 20), dtype=np.uint8),
            findings=text,
            gold=gold,
        )
        for number, text in enumerate(texts)
    ]
    shares = {"pretrain": 0.0, "train": 1.0, "val": 0.0, "test": 0.0}
    rules = {"target": "findings", "cleaning": "r2gen_iu", "image_size": 16} | rules
    rows = list(ingest(records, seed=0, split_shares=shares, max_quarantined_share=0.0, **rules))
    return ds.dataset(pa.Table.from_pylist(rows, schema=CORPUS))


@pytest.mark.parametrize(("choice", "label"), [({}, POSITIVE), ({"labels_of": "cleaned"}, BLANK)])
def test_a_reference_keeps_its_label_unless_its_cleaned_text_is_to_be_read(
    choice: dict[str, str], label: int
) -> None:
    gold = tuple(POSITIVE if name == "Atelectasis" else BLANK for name in OBSERVATIONS)
    corpus = corpus_of([SLASHED], gold=gold, **choice)
    assert corpus.to_table().column("report").to_pylist() == [FUSED]
    assert label_reports(corpus, Path(), LABELER)["Atelectasis"].tolist() == [label]
    agreement = check_labelers(corpus, Path(), LABELER)["agreement"]
    assert agreement["Atelectasis"] == float(label == POSITIVE)


def test_labelers_read_the_whole_section_where_the_target_is_cut() -> None:
    corpus = corpus_of(["Clear lungs. No effusion. Left atelectasis."], max_report_words=3)
    (row,) = corpus.to_table().to_pylist()
    assert row["report"] == "clear lungs ."
    assert row["label_text"] == "Clear lungs. No effusion. Left atelectasis."


def test_a_choice_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"labels_of.*original, cleaned"):
        corpus_of([SLASHED], labels_of="raw")


def test_clinical_rewards_read_the_text_before_the_cleaning_and_wording_its_target() -> None:
    ce = {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}
    bleu = {"weight": 0.25, "preparation": "whitespace"}
    reward = build_reward({"ce_f1": ce, "bleu2": bleu}, RulesLabeler())
    clinical, wording = reward.parts

    def score(part: Any, report: str, **label_texts: Any) -> float:
        (found,) = reward.score_part(part, [report], [FUSED], ["film"], **label_texts)
        return found

    original = {"label_texts": [SLASHED]}
    assert score(clinical, "Basal scarring, atelectasis.", **original) == 1
    assert score(clinical, "Basal scarring, atelectasis.") == 0  # as before, and under labels_of: cleaned
    assert score(wording, FUSED, **original) == pytest.approx(1)
    (direct,) = Bleu2(preparation="whitespace")(["Atelectasis ."], [FUSED], ["film"])
    assert score(wording, "Atelectasis .", **original) == direct


class Noting:
    """A reward that notes its references, and scores so that groups differ."""

    told: Mapping[str, float] = {}
    reads = "report"

    def __init__(self, name: str, *, clinical: bool) -> None:
        self.name, self.clinical, self.seen = name, clinical, set[str]()

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        self.seen |= {*references}
        return [sum(map(ord, report)) % 3 / 2 for report in reports]


def test_an_arm_trains_with_both_forms(
    small: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    policy_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    silent: Any,
    tmp_path: Path,
) -> None:
    from radrl.rewards.base import Part, RewardSum
    from radrl.training.reinforcement import arm as arms
    from radrl.training.reinforcement.oracle import Oracle

    weighed: set[str] = set()
    preferred: set[str] = set()

    class Credit:
        def weigh(self, rollouts: Any) -> None:
            weighed.update(rollouts.references)

    encode = Oracle.encode

    def noting(self: Oracle, references: Sequence[str]) -> Any:
        preferred.update(references)
        return encode(self, references)

    clinical, wording = Noting("clinical", clinical=True), Noting("wording", clinical=False)
    parts = RewardSum([Part(clinical, weight=1.0), Part(wording, weight=1.0)])
    made_of: list[str] = []

    def build(*_: Any, references: Sequence[str], **__: Any) -> RewardSum:
        made_of.extend(references)
        return parts

    monkeypatch.setattr(arms, "build_reward", build)
    monkeypatch.setattr(arms, "needing_more", lambda _: {})  # the reward is no part that has a name
    monkeypatch.setattr(arms, "build_credit", lambda *_: Credit())
    monkeypatch.setattr(Oracle, "encode", noting)
    corpus = make_corpus(["train", "val"], studies=3, label_text=[f"Original {i}/a." for i in range(6)])
    targets = {*corpus.to_table().column("report").to_pylist()[:3]}
    train_stage(
        corpus=corpus,
        start=policy_folder,
        subset=pd.DataFrame({"sample_id": [f"train{i}_1" for i in range(3)]}),
        arm={"start": "sft", "reward": {"clinical": {}}, "oracle": MIXING},
        training=small["training"] | {"steps": 3},
        labeler=small["labeler"],
        labeler_models=tmp_path / "labeler",
        dtype="float32",
        prompts=small["prompts"],
        seed=0,
        threads=1,
        device="cpu",
        workspace=tmp_path / "work",
        step_report=silent,
    )
    originals = {f"Original {i}/a." for i in range(3)}
    assert clinical.seen == weighed == originals
    assert wording.seen == {*made_of} == targets
    assert preferred
    assert preferred <= targets
    watched = draw_sample(corpus, {"every": 1, "films": 3}, seed=0)
    assert watched["label_text"].tolist() == [f"Original {i}/a." for i in range(3, 6)]


@pytest.fixture
def reports() -> pd.DataFrame:
    """One report as the policy wrote it, the reference as its target and as labelers read it."""
    names = ("sample_id", "study_id", "patient_id", "reference", "reference_label_text", "report")
    rows = [
        ("a_1", "a", "p1", FUSED, SLASHED, "Left base scarring/atelectasis."),
        ("b_1", "b", "p2", "no edema .", "No edema.", "no edema ."),
    ]
    return pd.DataFrame(rows, columns=names)


def test_eval_reads_labels_before_the_cleaning_and_words_after_it(reports: pd.DataFrame) -> None:
    scores, per_label, per_report = score_reports(reports, Path(), EVAL, LABELER)
    own = per_label.set_index(["observation", "reading"]).loc[("Atelectasis", "positive")]
    assert (own["f1"], own["support"], own["predicted"]) == (1, 1, 1)
    assert scores["about"] == {"cleaning": "r2gen_iu", "labels_of": "original"}
    first = per_report.iloc[0]
    assert (first["reference"], first["report"]) == (FUSED, "left base scarringatelectasis .")
    assert first["reference_label_text"] == SLASHED
    assert first["report_label_text"] == "Left base scarring/atelectasis."
    assert (first["reference_labels"][ATELECTASIS], first["labels"][ATELECTASIS]) == (POSITIVE, POSITIVE)
    # the fused words that both sides have in common
    assert first["nlg_bleu1"] == pytest.approx(3 / 4)
    assert (
        first["green_rules_wrong_location"] >= 1
    )  # right and left, of findings that fused words do not name


def test_eval_of_cleaned_texts_is_what_it_was(reports: pd.DataFrame) -> None:
    cleaned = EVAL | {"labels_of": "cleaned"}
    scores, per_label, per_report = score_reports(reports, Path(), cleaned, LABELER)
    own = per_label.set_index(["observation", "reading"]).loc[("Atelectasis", "positive")]
    assert (own["support"], own["predicted"]) == (0, 0)
    assert scores["about"]["labels_of"] == "cleaned"
    for side in ("reference", "report"):
        assert per_report[f"{side}_label_text"].tolist() == per_report[side].tolist()
    original, _, _ = score_reports(reports, Path(), EVAL, LABELER)
    overlap = [name for name in scores if name.startswith("nlg_")]
    assert {name: scores[name] for name in overlap} == {name: original[name] for name in overlap}


def test_reports_of_an_earlier_generate_are_refused(reports: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no column reference_label_text; run generate again"):
        score_reports(reports.drop(columns="reference_label_text"), Path(), EVAL, LABELER)


def test_the_comparison_scores_all_rows_as_eval_scored_the_arms() -> None:
    """Labels of every text row before the cleaning, its words after it; none of the stored labels anew."""
    targets = [FUSED, "small effusionpneumothorax .", "no edema ."]
    originals = [SLASHED, "Small effusion/pneumothorax.", "No edema."]
    rows = {"sample_id": ["f0", "f1", "f2"], "patient_id": ["p0", "p1", "p2"], "study_id": ["f0", "f1", "f2"]}
    references = {"reference": targets, "reference_label_text": originals}
    arm = pd.DataFrame(rows | references | {"report": originals})
    _, _, stored = score_reports(arm, Path(), EVAL, LABELER)
    films = corpus_of(originals)
    training = films.to_table(columns=["report", "label_text"]).to_pandas()
    every = all_rows(
        {"arm": stored},
        training,
        training,
        pd.DataFrame(columns=["sample_id", "row", *OBSERVATIONS]),
        seed=0,
        forms=partial(in_both_forms, settings=EVAL),
    )
    normal = every["constant_normal_report"].reports
    assert normal is not None
    assert set(normal.clinical) == {NORMAL_REPORT}
    assert set(normal.wording) == {clean(NORMAL_REPORT, "r2gen_iu")}
    nearest, ceiling = every["nearest_training_film"].reports, every["reference_report"].reports
    assert nearest is not None
    assert ceiling is not None
    assert (nearest.wording, nearest.clinical) == (targets, originals)
    assert (ceiling.wording, ceiling.clinical) == (targets, originals)
    drawn = every["random_training_report"].reports
    assert drawn is not None
    assert [originals[targets.index(text)] for text in drawn.wording] == drawn.clinical

    names = {"ce_rules": ["ce_rules_micro14_f1"], "nlg": ["nlg_bleu2"]}
    groups = build_groups(names, {"arm": stored}, settings=EVAL, labeler=LABELER, models=None, device="cpu")
    found = {
        name: score_rows(every, group, texts_of(stored, "reference"))["nearest_training_film"].summed.values()
        for name, group in groups.items()
    }
    assert found["ce_rules"]["ce_rules_micro14_f1"] == 1
    assert found["nlg"]["nlg_bleu2"] == pytest.approx(1)


def test_analyses_read_the_references_before_the_cleaning() -> None:
    corpus = corpus_of([SLASHED])
    rollouts = ds.dataset(pa.table({"sample_id": ["s0_1"], "rollout": [0], "report": ["Clear."]}))
    assert rollout_groups.read(rollouts, corpus, ["s0_1"])["reference"].tolist() == [SLASHED]


def test_a_metric_of_ones_own_says_which_form_it_reads() -> None:
    texts = Texts([FUSED], [SLASHED])

    def words(references: Sequence[str], hypotheses: Sequence[str]) -> list[int]:
        return [len(text) for text in references]

    def scorer() -> FunctionMetric:
        part: Any = SimpleNamespace(name="words", object=words, settings=dict)
        return FunctionMetric(part, {}, [])

    assert texts.read_by(scorer()) == [SLASHED]
    words.wording = True  # type: ignore[attr-defined]
    assert texts.read_by(scorer()) == [FUSED]


def test_one_corpus_where_nothing_is_cleaned_or_cut(root: Path) -> None:
    given = yaml.safe_load((root / "params.yaml").read_text())["ingest"]

    def digest(**changed: Any) -> str:
        return Ingest.model_validate(given | changed).digest()

    assert digest(labels_of="original") == digest(labels_of="cleaned")
    for changed in ({"cleaning": "r2gen_iu"}, {"max_report_words": 59}):
        assert digest(labels_of="original", **changed) != digest(labels_of="cleaned", **changed)


OPENI: Final = Path(os.environ.get("RADRL_SHARED", "")) / "data" / "openi"


@pytest.mark.skipif(
    not os.environ.get("RADRL_SHARED") or not (OPENI / "gold_labels.csv").is_file(),
    reason="set RADRL_SHARED to a folder with data/openi",
)
def test_atelectasis_of_open_i_is_read_before_r2gens_cleaning_and_cut() -> None:
    with (OPENI / "gold_labels.csv").open(encoding="utf-8", newline="") as file:
        gold = {row["filename"]: row["Atelectasis"] == "1" for row in csv.DictReader(file)}
    with (OPENI / "indiana_reports.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if f"CXR{row['uid']}" in gold]
    rows = [row for row in rows if len(f"{row['findings']}{row['impression']}".split()) > 3]
    truth = np.array([gold[f"CXR{row['uid']}"] for row in rows])
    texts = [f"{row['findings']}\n{row['impression']}".strip() for row in rows]
    f1 = {}
    for choice in ("original", "cleaned"):
        corpus = corpus_of(texts, max_report_words=59, labels_of=choice)
        labels = label_reports(corpus, Path(), LABELER)["Atelectasis"]
        found = labels.isin([POSITIVE, UNCERTAIN]).to_numpy()
        f1[choice] = 2 * (found & truth).sum() / (found.sum() + truth.sum())
    assert f1["original"] > 0.91
    assert f1["cleaned"] < 0.88

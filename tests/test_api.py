"""`import radrl`: names and signatures, what it imports, its examples, and what is said of mistakes."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

import radrl
from radrl.data import corpus as written
from radrl.observations import BLANK, INDEX, NEGATIVE, OBSERVATIONS, POSITIVE
from radrl.scoring import ScoringError

ROOT = Path(__file__).parents[1]
TRUTH = ["There is a small left pleural effusion.", "The heart is enlarged."]
FOUND = ["Small left pleural effusion.", "The heart is normal."]

SIGNATURES = {
    "radrl.label": "(reports: 'Iterable[str]', *, labeler: 'str | Labeler' = 'rules') -> 'LabelMatrix'",
    "radrl.load_labeler": "(name: 'str' = 'rules', *, model: 'Path | str | None' = None, "
    "device: 'str' = 'cpu', **settings: 'Any') -> 'Labeler'",
    "radrl.load_policy": "(folder: 'Path | str', *, dtype: 'str' = 'float32', device: 'str' = 'cpu') "
    "-> 'Policy'",
    "radrl.open_source": "(name: 'str', *, seed: 'int' = 0, image_size: 'int | None' = None, "
    "**settings: 'Any') -> 'Source'",
    "radrl.read_corpus": "(folder: 'Path | str', *, split: 'str | None' = None, "
    "columns: 'Sequence[str] | None' = None) -> 'pd.DataFrame'",
    "radrl.score": "(references: 'Iterable[str]', hypotheses: 'Iterable[str]', "
    "metrics: 'Sequence[str] | None' = None, *, "
    "labelers: 'str | Labeler | Sequence[str | Labeler]' = 'rules', "
    "settings: 'Mapping[str, Mapping[str, Any]] | None' = None) -> 'Scores'",
    "radrl.rewards.for_easyr1": "(*rewards: 'TrainerReward', weights: 'Sequence[float] | None' = None) "
    "-> 'ForEasyR1'",
    "radrl.rewards.for_verl": "(*rewards: 'TrainerReward', weights: 'Sequence[float] | None' = None) "
    "-> 'ForVerl'",
    "radrl.rewards.get": "(name: 'str', *, column: 'str' = 'reference', labeler: 'str | Labeler' = 'rules', "
    "references: 'Iterable[str]' = (), output: 'str' = 'plain', missing: 'Missing' = 'raise', "
    "**settings: 'Any') -> 'TrainerReward'",
    "radrl.rewards.names": "() -> 'list[str]'",
    "radrl.credit.get": "(name: 'str', tokenizer: 'Any', *, labeler: 'Labeler | None' = None, "
    "output: 'str' = 'plain', **settings: 'Any') -> 'TokenCredit'",
    "radrl.credit.names": "() -> 'list[str]'",
}
"""What programs of others rely on: a change here is a change for them, and stands in the changelog."""


def named(path: str) -> Any:
    package, _, name = path.rpartition(".")
    return getattr(import_module(package), name)


def test_public_names_and_signatures_are_these() -> None:
    packages = ("radrl", "radrl.credit", "radrl.rewards")
    there = {f"{package}.{name}" for package in packages for name in import_module(package).__all__}
    assert there == {*SIGNATURES, "radrl.OBSERVATIONS", "radrl.credit", "radrl.rewards"}
    assert {path: str(inspect.signature(named(path))) for path in SIGNATURES} == SIGNATURES


@pytest.mark.parametrize("package", [radrl, radrl.credit, radrl.rewards])
def test_names_are_listed_and_others_are_not_there(package: Any) -> None:
    assert {*package.__all__} <= {*dir(package)}
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'lable'"):
        _ = package.lable


def imported_by(program: str) -> set[str]:
    """Modules, and packages at the top, that a fresh interpreter has after a program."""
    shown = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=120
    )
    names = set(done.stdout.split())
    return names | {name.partition(".")[0] for name in names}


def test_import_radrl_imports_nothing_else() -> None:
    bare, with_radrl = imported_by(""), imported_by("import radrl")
    assert {name for name in with_radrl if name.startswith("radrl")} == {"radrl"}
    heavy = {"torch", "transformers", "trl", "pandas", "numpy", "pydantic", "kedro", "mlflow", "dvc", "click"}
    assert not with_radrl & heavy
    assert {name.partition(".")[0] for name in with_radrl - bare} <= {"radrl", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    "program",
    [
        "radrl.label(['Small effusion.'])",
        "radrl.rewards.get('ce_f1')(None, ['Small effusion.'], reference=['Large effusion.'])",
        "radrl.rewards.get('facts'); radrl.rewards.get('bleu2'); radrl.rewards.get('format')",
        "radrl.score(['Small effusion.'], ['Effusion.'], ['ce', 'nlg_bleu4'])",
    ],
)
def test_rules_and_rewards_need_neither_torch_nor_the_pipeline(program: str) -> None:
    heavy = {"torch", "transformers", "trl", "pandas", "kedro", "mlflow", "dvc"}
    assert not imported_by(f"import radrl\n{program}") & heavy


def test_types_are_shipped() -> None:
    import tomllib

    assert (ROOT / "src/radrl/py.typed").read_bytes() == b""
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in built["radrl"]


@pytest.mark.parametrize(
    "module",
    [
        "radrl.api",
        "radrl.rewards.other_trainers",
        "radrl.credit.other_trainers",
        "radrl.reports.lists",
        "radrl.labelers.rules.phrases",
    ],
)
def test_examples_of_docstrings_run(module: str, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(import_module(module))
    assert tried
    assert not failed


def test_examples_of_the_page_run(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs/api.md"), module_relative=False)
    assert tried > 10
    assert not failed


def test_the_page_has_an_example_of_every_name() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    shown = "\n".join(line for line in page.splitlines() if line.startswith((">>>", "    >>>", "    ...")))
    assert [path for path in SIGNATURES if f"{path}(" not in shown] == []


def test_label_reads_what_the_labeler_reads() -> None:
    labels = radrl.label(pd.Series(["Large heart. No pneumothorax.", ""]))
    assert (labels.shape, labels.dtype) == ((2, 14), np.dtype(np.int8))
    assert labels[0][INDEX["Cardiomegaly"]] == POSITIVE
    assert labels[0][INDEX["Pneumothorax"]] == NEGATIVE
    assert (labels[1] == BLANK).all()
    assert radrl.label([]).shape == (0, 14)
    assert radrl.OBSERVATIONS is OBSERVATIONS


def test_score_gives_the_metrics_that_are_asked_for() -> None:
    found = radrl.score(TRUTH, FOUND, ["ce_rules_sample14_f1", "nlg_bleu?"])
    # the effusion is found (1), the heart is not (0)
    assert found.corpus["ce_rules_sample14_f1"] == 0.5
    assert found.per_report["ce_rules_sample14_f1"].tolist() == [1.0, 0.0]
    assert {*found.corpus} == {"ce_rules_sample14_f1", *(f"nlg_bleu{n}" for n in range(1, 5))}


class Same:
    """A labeler of one's own: everything is blank."""

    name = "same"

    def label(self, reports: Any) -> Any:
        return np.zeros((len(reports), 14), np.int8)


def test_score_takes_several_labelers_and_settings() -> None:
    found = radrl.score(TRUTH, FOUND, ["ce_*_exact_match14"], labelers=["rules", Same()])
    assert found.corpus == {"ce_rules_exact_match14": 0.5, "ce_same_exact_match14": 1.0}
    shouted = [text.upper() for text in TRUTH]
    plain = {"nlg": {"preparation": "whitespace"}}
    assert radrl.score(TRUTH, shouted, ["nlg_rougel"]).corpus["nlg_rougel"] == 1.0
    assert radrl.score(TRUTH, shouted, ["nlg_rougel"], settings=plain).corpus["nlg_rougel"] == 0.0


def test_a_metric_asked_for_by_name_is_there_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no Java
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "nlg_meteor" in radrl.score(TRUTH, FOUND, ["nlg"]).skipped
    with pytest.raises(ScoringError, match=r"nlg_meteor cannot be had: .*[Jj]ava"):
        radrl.score(TRUTH, FOUND, ["nlg_meteor"])


def test_read_corpus_reads_what_ingest_wrote(make_corpus: Callable[..., ds.Dataset], tmp_path: Path) -> None:
    made = make_corpus(["train", "test"], studies=3)
    written.write(made.to_table(), tmp_path / "0.arrow")
    table = radrl.read_corpus(tmp_path, split="test", columns=["study_id", "report"])
    assert table["study_id"].tolist() == ["test0", "test1", "test2"]
    assert len(radrl.read_corpus(str(tmp_path))) == 6
    with pytest.raises(ValueError, match=r"no film in split 'val' \(it has test, train"):
        radrl.read_corpus(tmp_path, split="val")
    with pytest.raises(ValueError, match="columns: the corpus has no 'reprt'; did you mean 'report'"):
        radrl.read_corpus(tmp_path, columns=["reprt"])
    with pytest.raises(FileNotFoundError, match=f"no corpus at {tmp_path / 'none'}"):
        radrl.read_corpus(tmp_path / "none")


def test_open_source_reads_a_table(tmp_path: Path) -> None:
    (tmp_path / "reports.csv").write_text("file,text\na.png,Clear lungs.\n,Large heart.\n")
    source = radrl.open_source(
        "csv",
        path=tmp_path / "reports.csv",
        image_root=tmp_path,
        columns={"image": "file", "report": "text"},
        views={},
    )
    first, second = source.records
    assert (first.image, first.report) == (tmp_path / "a.png", "Clear lungs.")  # type: ignore[union-attr]
    assert (second.image, second.report) == (None, "Large heart.")  # type: ignore[union-attr]


def test_load_policy_is_the_policy(policy_folder: Path) -> None:
    policy = radrl.load_policy(str(policy_folder))
    assert not policy.model.training
    assert policy.processor.tokenizer is not None


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: radrl.label("Clear."), TypeError, r"reports is one text; give a list of texts, \[reports\]"),
    (lambda: radrl.label(["Clear.", None]), TypeError, r"reports\[1\] is NoneType, not text: leave missing"),  # type: ignore[list-item]
    (lambda: radrl.label([float("nan")]), TypeError, r"reports\[0\] is float"),  # type: ignore[list-item]
    (lambda: radrl.label(3), TypeError, "reports is int; give a list of texts"),  # type: ignore[arg-type]
    (lambda: radrl.label({"a": "b"}), TypeError, "reports is dict"),
    (
        lambda: radrl.label([""], labeler="rule"),
        ValueError,
        "labeler: no labeler 'rule'; did you mean 'rules'",
    ),
    (lambda: radrl.label([""], labeler="chexbert"), ValueError, r"load_labeler\('chexbert', model=...\)"),
    (lambda: radrl.load_labeler("chexbert"), ValueError, "'chexbert' reads with a model: .* model=..."),
    (
        lambda: radrl.load_labeler("chexbert", model="there", hidden=4),
        ValueError,
        "labeler 'chexbert' has no setting 'hidden'",
    ),
    (
        lambda: radrl.load_labeler(alternative="positive"),
        ValueError,
        "labeler rules has no setting 'alternative'; did you mean 'alternatives'",
    ),
    (
        lambda: radrl.load_labeler(alternatives="negative"),
        ValueError,
        "labeler rules: alternatives is 'negative': Input should be 'uncertain' or 'positive'",
    ),
    (
        lambda: radrl.score(TRUTH, FOUND[:1]),
        ValueError,
        "lists of different length: references has 2, hypotheses has 1",
    ),
    (lambda: radrl.score([], []), ValueError, "references and hypotheses are empty"),
    (lambda: radrl.score(["nan"], ["Clear."]), ValueError, r"references\[0\] is 'nan', no report"),
    (lambda: radrl.score(TRUTH[0], FOUND), TypeError, "references is one text"),
    (lambda: radrl.score(TRUTH, FOUND, "nlg"), TypeError, r"metrics is one text; .*\[metrics\]"),
    (lambda: radrl.score(TRUTH, FOUND, []), ValueError, "metrics is empty"),
    (
        lambda: radrl.score(TRUTH, FOUND, ["nlg_bleu5"]),
        ValueError,
        "metrics: no metric is 'nlg_bleu5'; near it: nlg_bleu4",
    ),
    (
        lambda: radrl.score(TRUTH, FOUND, settings={"nlgg": {}}),
        ValueError,
        "settings: no metric 'nlgg'; did you mean 'nlg'",
    ),
    (
        lambda: radrl.score(TRUTH, FOUND, settings={"nlg": {"meteors": True}}),
        ValueError,
        "metric nlg has no setting 'meteors'; did you mean 'meteor'",
    ),
    (
        lambda: radrl.load_policy("there", dtype="float3"),
        ValueError,
        "dtype is 'float3'; did you mean 'float32'",
    ),
    (lambda: radrl.load_policy("there"), FileNotFoundError, "no policy at there"),
    (lambda: radrl.open_source("iuxray"), ValueError, "source: no source 'iuxray'; did you mean 'iu_xray'"),
    (lambda: radrl.open_source("csv", path="a"), ValueError, "source csv: image_root is missing"),
]


@pytest.mark.parametrize(("call", "kind", "said"), MISTAKES, ids=[said for _, _, said in MISTAKES])
def test_a_mistake_is_named_with_what_would_be_right(
    call: Callable[[], Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call()

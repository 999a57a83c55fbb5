"""What `import radrl` offers a program: labels, scores, a policy's folder, data sets, each by one call.

A thin layer: every call checks what it is given and hands it to the function that the commands and the
stages call too. Rewards and token weights for other trainers are in `radrl.rewards` and `radrl.credit`. The
package hands these names on (`radrl.label`) and imports this module when one of them is first asked for; what
only one of them needs is imported by that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radrl.labelers import RULES, Labeler, LabelMatrix, load, needs_model, one, says_nothing
from radrl.observations import OBSERVATIONS
from radrl.parts.checked import checked
from radrl.parts.choices import hint
from radrl.parts.find import find, own_names
from radrl.reports.lists import require_equal, texts

if TYPE_CHECKING:
    import pandas as pd

    from radrl.data.sources import Source
    from radrl.policy.folder import Policy
    from radrl.scoring import Scores

__all__ = [
    "OBSERVATIONS",
    "label",
    "load_labeler",
    "load_policy",
    "open_source",
    "read_corpus",
    "score",
]


def load_labeler(
    name: str = "rules", *, model: Path | str | None = None, device: str = "cpu", **settings: Any
) -> Labeler:
    """Load who reads the 14 observations out of reports, for `label`, `score` and `radrl.rewards.get`.

    Args:
        name: ``rules``, ``chexbert``, ``chexbert_compact``, or one that an installed package offers.
        model: of a CheXbert, its weights or their folder, or the folder that the stage labeler wrote.
        device: where a CheXbert computes: ``cpu``, ``cuda``, ``cuda:1``, ``auto``.
        **settings: of the rules, `alternatives` and `other_findings`; of one's own, `part` and its settings.

    Returns:
        The labeler; its `label` reads reports.

    Raises:
        ValueError: when there is none of the name, or it needs a model, or a setting is wrong.
        FileNotFoundError: when its model is not there.

    Example:
        >>> import radrl
        >>> radrl.load_labeler("rules", alternatives="positive").name
        'rules'
    """
    part = find("labeler", name, settings, key="labeler")
    reads_with_model = needs_model(name, {name: settings})
    if reads_with_model and model is None:
        raise ValueError(f"labeler {name!r} reads with a model: give its folder, model=...")
    if reads_with_model and part.origin == "built-in" and settings:
        raise ValueError(f"labeler {name!r} has no setting {next(iter(settings))!r}; its weights say all")
    own = {}
    if part.origin != "built-in" or not reads_with_model:  # what made a CheXbert is in its weights
        own = checked(part, settings, defaults=RULES if name == "rules" else {})
    return load(name, {name: own}, model=None if model is None else Path(model), device=device)


def label(reports: Iterable[str], *, labeler: str | Labeler = "rules") -> LabelMatrix:
    """Read the 14 CheXpert observations out of reports.

    Args:
        reports: N report texts; an empty one has every observation blank.
        labeler: the name of one that needs no model, or what `load_labeler` gave.

    Returns:
        Class indices in the order of `radrl.OBSERVATIONS`, shape (N, 14), dtype int8: 0 not mentioned,
        1 positive, 2 negative, 3 uncertain.

    Raises:
        TypeError: when `reports` is one text, or one of them is none.
        ValueError: when there is no such labeler.

    Example:
        >>> import radrl
        >>> labels = radrl.label(["Small left pleural effusion. No pneumothorax."])
        >>> {name: int(said) for name, said in zip(radrl.OBSERVATIONS, labels[0]) if said}
        {'Pneumothorax': 2, 'Pleural Effusion': 1}
    """
    return one(labeler).label(texts("reports", reports))


def score(
    references: Iterable[str],
    hypotheses: Iterable[str],
    metrics: Sequence[str] | None = None,
    *,
    labelers: str | Labeler | Sequence[str | Labeler] = "rules",
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Scores:
    """Score generated reports against their references, as `radrl score` does.

    Args:
        references: N reference reports.
        hypotheses: the N generated reports; an empty one is scored as it stands.
        metrics: families (``ce``, ``nlg``, ``radgraph_rules``, ``green_rules``), metrics, or patterns of
            metrics' names with ``*`` and ``?``; by default these four families. docs/metrics.md says what
            each measures.
        labelers: who read the labels of the family ``ce``, one or several, as `label` takes it.
        settings: by family, as the section `eval` of params.yaml has them: of ``nlg`` preparation and meteor,
            of families with a model where that is.

    Returns:
        `corpus`, by metric the figure over all reports; `per_report`, by metric a value a report, shape (N,);
        `skipped`, by metric why it is missing.

    Raises:
        TypeError: when a list is one text, or holds what is none.
        ValueError: when the lists differ in length or are empty, a reference says nothing, or there is no
            such metric, labeler or setting.
        radrl.scoring.ScoringError: when a tool is missing for what is asked for by its name.

    Example:
        >>> import radrl
        >>> wanted = ["ce_rules_sample14_f1", "nlg_bleu1"]
        >>> found = radrl.score(["Large heart."], ["The heart is large."], wanted)
        >>> {name: round(value, 2) for name, value in found.corpus.items()}
        {'ce_rules_sample14_f1': 1.0, 'nlg_bleu1': 0.6}
    """
    from radrl.scoring import Scores, ScoringError
    from radrl.scoring.build import build
    from radrl.scoring.names import EVAL, WITHOUT_MODEL, Wanted

    truth, generated = _pairs(references, hypotheses)
    asked = list(WITHOUT_MODEL) if metrics is None else texts("metrics", metrics)
    if not asked:
        raise ValueError("metrics is empty; leave it out for all that need no model")
    given = [labelers] if isinstance(labelers, str) or not isinstance(labelers, Sequence) else labelers
    readers = [one(each) for each in given]
    evaluation = _with_defaults(settings or {}, EVAL)
    with _of_metrics():
        wanted = Wanted(asked, [each.name for each in readers], evaluation)
    evaluation["nlg"]["meteor"] &= wanted.has("nlg_meteor", "nlg")  # it starts Java
    found = {
        family: build([family], evaluation, readers)[0].score(truth, generated) for family in wanted.families
    }
    with _of_metrics():
        wanted.require_found({family: [*scores.corpus, *scores.skipped] for family, scores in found.items()})
    whole = Scores({}, {})
    for family, scores in found.items():
        has = partial(wanted.has, family=family)
        whole.corpus.update({name: value for name, value in scores.corpus.items() if has(name)})
        whole.per_report.update({name: value for name, value in scores.per_report.items() if has(name)})
        whole.skipped.update({name: why for name, why in scores.skipped.items() if has(name)})
        whole.about.update(scores.about)
    if lacking := [name for name in asked if name in whole.skipped]:
        raise ScoringError(f"{lacking[0]} cannot be had: {whole.skipped[lacking[0]]}")
    return whole


def load_policy(folder: Path | str, *, dtype: str = "float32", device: str = "cpu") -> Policy:
    """Load a report writer: one that a stage wrote, or a Qwen-VL, a Gemma 3 or another of a known family.

    Args:
        folder: its local folder: config.json, safetensors weights, tokenizer, preprocessor_config.json.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
        device: where it computes: ``cpu``, ``cuda``, ``cuda:1``, ``auto``.

    Returns:
        `model`, a transformers model in evaluation mode, and its `processor`.

    Raises:
        FileNotFoundError: when the folder or one of its files is not there.
        ValueError: when it holds another kind of model, or weights that are damaged.

    Example:
        >>> import radrl
        >>> policy = radrl.load_policy("data/06_models/radrl-tiny")
        >>> policy.model.config.model_type
        'qwen2_5_vl'
    """
    from radrl.policy.folder import DTYPES, load
    from radrl.process.devices import place

    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}{hint(str(dtype), DTYPES, 'Valid')}")
    return load(Path(folder), dtype=dtype, device=place(device))


def read_corpus(
    folder: Path | str, *, split: str | None = None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read the texts of a corpus that the stage ingest wrote.

    Args:
        folder: ``data/02_intermediate/corpus`` of a project.
        split: ``pretrain``, ``train``, ``val`` or ``test``; by default all.
        columns: which columns; by default all but the films (`radrl.data.corpus.Films` reads those).

    Returns:
        A row a sample, in the order of ingest: sample_id, study_id, patient_id, split, views, findings,
        impression, report, label_text, gold.

    Raises:
        FileNotFoundError: when there is no such folder, or nothing in it.
        ValueError: when the split has no film, or there is no such column.

    Example:
        >>> import radrl
        >>> reports = radrl.read_corpus("data/02_intermediate/corpus", split="test")  # doctest: +SKIP
    """
    from radrl.data.corpus import TEXTS, opened, read

    where = Path(folder)
    if not where.is_dir() or not any(where.iterdir()):
        raise FileNotFoundError(f"no corpus at {where}: give the folder that the stage ingest wrote")
    asked = list(TEXTS) if columns is None else texts("columns", columns)
    for name in asked:
        if name not in TEXTS:
            raise ValueError(f"columns: the corpus has no {name!r}{hint(name, TEXTS, 'Its columns')}")
    return read(opened(where), split=split, columns=asked)


def open_source(name: str, *, seed: int = 0, image_size: int | None = None, **settings: Any) -> Source:
    """Open a data set as its owners publish it.

    Args:
        name: ``csv``, ``iu_xray``, ``mimic_cxr``, ``chexpert_plus``, ``rexgradient``, ``padchest_gr``,
            ``phantom``, or an installed package's.
        seed: of a source that draws.
        image_size: of drawn films, in pixels.
        **settings: its section of `ingest` in params.yaml; `radrl parts source` lists them.

    Returns:
        `records`, an iterator of `radrl.data.study.Record`, a film each, and of refusals with their reasons
        (`radrl.data.quarantine.Refusal`).

    Raises:
        ValueError: when there is no such source, or a setting is missing or wrong.
        radrl.data.tables.SourceError: when its files are not as expected.

    Example:
        >>> import radrl
        >>> columns = {"image": "file", "report": "text"}
        >>> source = radrl.open_source(
        ...     "csv", path="reports.csv", image_root="films", columns=columns, views={}
        ... )  # doctest: +SKIP
    """
    from radrl.data.sources import open_source as opened

    plain = {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}
    own = checked(find("source", name, plain, key="source"), plain)
    return opened({"source": name, name: own, "image_size": image_size}, seed=seed)


def _pairs(references: Iterable[str], hypotheses: Iterable[str]) -> tuple[list[str], list[str]]:
    truth, found = texts("references", references), texts("hypotheses", hypotheses)
    require_equal({"references": len(truth), "hypotheses": len(found)})
    if not truth:
        raise ValueError("references and hypotheses are empty; give a pair a report")
    for place, text in enumerate(truth):
        if says_nothing(text):
            raise ValueError(f"references[{place}] is {text!r}, no report: nothing can be compared with it")
    return truth, found


@contextmanager
def _of_metrics() -> Iterator[None]:
    """Say of a metric that is none which argument it stands in."""
    from radrl.scoring.names import UnknownMetric

    try:
        yield
    except UnknownMetric as error:
        raise UnknownMetric(f"metrics: {error}") from None


def _with_defaults(
    settings: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The section `eval`, each family's own checked."""
    valid = own_names("metric", settings)
    for family in settings:
        if family not in valid:
            raise ValueError(f"settings: no metric {family!r}{hint(family, valid, 'There are')}")
    whole = {family: {**defaults.get(family, {}), **own} for family, own in {**defaults, **settings}.items()}
    return {
        family: checked(find("metric", family, own, key="settings"), own) for family, own in whole.items()
    }

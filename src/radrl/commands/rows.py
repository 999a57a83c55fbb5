"""`radrl rows`: another system's released reports become a row of the comparison."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from radrl.commands.common import Tally, require_outputs, table_at
from radrl.commands.pairs import Pairs, Survey
from radrl.commands.project import project_folder
from radrl.commands.result import Bootstrap, Gathering, Result, as_text, show
from radrl.commands.run import Part, Scoring, set_up
from radrl.evaluation.meteor import METEOR
from radrl.labelers import needs_model, says_nothing
from radrl.process.devices import ASKED
from radrl.reports.sections import TARGETS, Target
from radrl.rexrank import released as files
from radrl.rexrank.form import FormError
from radrl.storage.digests import sha256
from radrl.storage.whole_files import whole_file

if TYPE_CHECKING:
    from radrl.params.schema import Params
    from radrl.rexrank.released import Joined, Report
    from radrl.scoring import Texts

_EXAMPLES: Final = """\b
Examples:
  radrl rows cxrmate2_generated_reports_mimic_cxr_test.csv --name CXRMate-2
  radrl rows predictions.json --name MedVersa --references ReXRank_MIMICCXR_test.json --target findings
  radrl rows theirs.csv --name Theirs --column study=accession --column report=generated
  radrl rows theirs.csv --name Theirs --references ours.csv --reference-column report=reference \\
      --reference-column patient=subject_id --metrics 'ce_rules_*14_f1,nlg_bleu4'
  radrl rows theirs.csv --name Theirs --unmatched unmatched.csv --pairs pairs.csv"""

_SYSTEMS: Final = Path("conf/base/systems")
_LABELERS: Final = Path("data/06_models/labeler")
_KEYS: Final = ", ".join(f"{key} [{name}]" for key, name in files.COLUMNS.items())
_SHOWN: Final = 5
"""Studies that a note names."""


@click.command("rows", epilog=_EXAMPLES)
@click.argument("released", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", required=True, help="The row's name in the comparison.")
@click.option(
    "--references",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A table of references, or ReXrank's JSON.  [default: the films that the arms are scored on]",
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="The sections that are compared.  [default: params.yaml's ingest.target]",
)
@click.option(
    "--column", "columns", multiple=True, metavar="KEY=COLUMN",
    help=f"Where RELEASED is a table, what holds {_KEYS} (repeatable).",
)  # fmt: skip
@click.option(
    "--reference-column", "reference_columns", multiple=True, metavar="KEY=COLUMN",
    help="The same of --references (repeatable).",
)  # fmt: skip
@click.option(
    "--metrics",
    metavar="LIST",
    help="Metrics, families or patterns, by commas.  [default: params.yaml's compare.metrics]",
)
@click.option("--device", help=f"Where a CheXbert computes: {ASKED}.  [default: params.yaml's]")
@click.option(
    "--file", "file_name", metavar="NAME.json", help=f"The row's file in {_SYSTEMS}.  [default: after --name]"
)
@click.option(
    "--pairs",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="The pairs as they are scored, as a table for radrl score (OUT.csv, .jsonl, .parquet): reports.",
)
@click.option(
    "--unmatched",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="Every study that has no partner, and why, as a table.",
)
@click.option("--force", is_flag=True, help="Replace output files that are there.")
@click.option("-q", "--quiet", is_flag=True, help="No notes on stderr.")
def command(
    released: Path,
    name: str,
    references: Path | None,
    target: Target | None,
    columns: tuple[str, ...],
    reference_columns: tuple[str, ...],
    metrics: str | None,
    device: str | None,
    file_name: str | None,
    pairs: Path | None,
    unmatched: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Score RELEASED, the reports of another system, on one's own references, as a row of the comparison.

    RELEASED is a table with a study a row, as CXRMate-2's authors release theirs, or ReXrank's JSON with
    model_prediction. Studies meet by their ids, whose spellings differ from file to file: 50414267 is
    s50414267, patient64541_study1 is patient64541/study1, CXR3030_IM-1405 is CXR3030.

    Reports are cleaned and scored as params.yaml's eval does it with the arms', in the metrics, intervals and
    seed of its comparison. A report with "Findings:" and "Impression:" is parted there; one without headings
    stands whole. A section that a system left out ("/", "None", nothing) is an empty report, and scored so.

    The figures go to conf/base/systems, and the line that params.yaml wants is printed. How many studies met
    is said, and which did not. A study that stands twice, a column that is not there and a bad row are
    refused by file and row, and nothing is written.
    """
    root = project_folder(Path.cwd())
    file_name = file_name or f"{re.sub(r'[^a-z0-9_+]+', '-', name.lower()).strip('-')}.json"
    params = _params(root, name, file_name)
    out = root / _SYSTEMS / file_name
    outputs = {"--file": out, "--pairs": pairs, "--unmatched": unmatched}
    require_outputs(outputs, force=force, tables=["--pairs", "--unmatched"])
    target = _target(target, params, references, reference_columns)
    with _naming("--column"):
        own = files.chosen_columns(columns)
    found = files.released(released, target, own)
    joined = files.join(found, _references(root, params, references, target, reference_columns))
    if not quiet:
        _tell(name, found, joined)
    asked = [item.strip() for item in (metrics or "").split(",") if item.strip()] or params.compare.metrics
    scoring = _set_up(root, params, asked, device)
    source = {
        "file": released.name,
        "sha256": sha256(released),
        "references": _described(references, params),
        "target": target,
    }
    both = _texts(joined, params)
    result = _scored(scoring, joined, both, params, source)
    if unmatched is not None:
        _write(unmatched, _unmatched(joined), ("side", "study", "why"))
    if pairs is not None:
        _write(pairs, _rows(joined, *both), ("study_id", "patient", *_TEXTS))
    with whole_file(out) as stream:
        stream.write(as_text(result).encode())
    show(result, brief=False)
    _next(params, name, file_name)
    if not quiet:
        made = [out.relative_to(root), *(one for one in (pairs, unmatched) if one is not None)]
        click.echo(f"{len(joined.pairs):,} reports -> {', '.join(map(str, made))}", err=True)


def _params(root: Path, name: str, file_name: str) -> Params:
    """The project's parameters, which must be able to hold the row.

    Raises:
        click.BadParameter: for a name that a row cannot have.
        radrl.params.messages.ParamsError: when they are wrong without it.
    """
    from radrl.params.messages import ParamsError
    from radrl.params.schema import read, validate
    from radrl.storage import yaml_files

    path = root / "params.yaml"
    params = read(path)
    values = yaml_files.read(path)
    values["compare"]["systems"] = {**values["compare"]["systems"], name: file_name}
    try:
        validate(values)
    except ParamsError as error:
        raise click.BadParameter(str(error).partition("\n")[2].strip(), param_hint="--name, --file") from None
    return params


def _target(
    target: Target | None, params: Params, references: Path | None, reference_columns: Sequence[str]
) -> Target:
    """The sections that are compared; those of the corpus are what ingest put there."""
    of_corpus: Target = params.ingest.target
    if references is None and reference_columns:
        raise click.UsageError("--reference-column is for --references, a table; the corpus needs none")
    if references is None and target not in (None, of_corpus):
        raise click.UsageError(
            f"--target {target}, but the corpus has ingest.target, {of_corpus}: give --references too"
        )
    return target or of_corpus


def _references(
    root: Path, params: Params, path: Path | None, target: Target, columns: Sequence[str]
) -> list[Report]:
    if path is None:
        return files.of_corpus(root / files.CORPUS, params.generate.split)
    with _naming("--reference-column"):
        chosen = files.chosen_columns(columns)
    return list(files.references(path, target, chosen).values())


@contextmanager
def _naming(option: str) -> Iterator[None]:
    try:
        yield
    except FormError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _described(references: Path | None, params: Params) -> dict[str, str]:
    if references is None:
        return {"corpus": params.generate.split}
    return {"file": references.name, "sha256": sha256(references)}


def _tell(name: str, found: Mapping[str, Report], joined: Joined) -> None:
    """Say what met, and what did not."""
    studies = len({one.study for _, one in joined.pairs})
    films = f" of {studies:,} studies" if studies != len(joined.pairs) else ""
    all_references = len(joined.pairs) + len(joined.unreported) + len(joined.without)
    click.echo(
        f"{name}: {len(joined.pairs):,} of {all_references:,} references{films} have a released report, and "
        f"{studies:,} of {len(found):,} released reports a reference",
        err=True,
    )
    notes = {
        "references without a released report": joined.unreported,
        "references without the sections that are compared": joined.without,
        "released reports of studies that the references have not": joined.elsewhere,
        "released reports without headings, which stand whole": [one for _, one in joined.pairs if one.whole],
        "released reports without the sections that are compared, scored as empty": [
            one for _, one in joined.pairs if says_nothing(one.text)
        ],
    }
    for what, which in notes.items():
        if which:
            named = [one.study for one in which]
            more = ", ..." if len(named) > _SHOWN else ""
            click.echo(f"  {what}: {len(named):,} ({', '.join(named[:_SHOWN])}{more})", err=True)
    if not all(reference.patient for reference, _ in joined.pairs):
        click.echo(
            "  no patients in the references: intervals draw reports, as if each had its own", err=True
        )


def _set_up(root: Path, params: Params, metrics: Sequence[str], device: str | None) -> Scoring:
    """Scorers and labelers as the stage eval has them."""
    readers = [one for one in params.eval.labelers if any(_may_want(metric, one) for metric in metrics)]
    if readers:  # by the first's labels the comparison looks whether references are the arms'
        readers = list(dict.fromkeys([params.eval.labelers[0], *readers]))
    models, labeler = root / _LABELERS, params.labeler.model_dump()
    lacking = [one for one in readers if not models.is_dir() and needs_model(one, labeler)]
    if lacking:
        raise click.UsageError(
            f"{lacking[0]} reads labels with a model, and {_LABELERS} is not there: `radrl repro labeler` "
            f"makes it, or leave ce_{lacking[0]}_* out of --metrics"
        )
    # METEOR starts Java
    meteor = {} if any(item == "nlg" or fnmatchcase(METEOR, item) for item in metrics) else {"meteor": False}
    scoring = set_up(
        metrics=metrics,
        labelers=readers,
        model=models if models.is_dir() else None,
        device=device or params.device,
        settings=root / "params.yaml",
        nlg=meteor,
    )
    texts = {key: getattr(params.eval, key) for key in ("cleaning", "labels_of", "max_report_words")}
    return replace(scoring, settings={**scoring.settings, "texts": texts})


def _may_want(metric: str, labeler: str) -> bool:
    """Whether an item of --metrics may be of a labeler: a name of its own, the whole family, or a pattern."""
    begun = re.split(r"[*?[]", metric)[0]
    return metric == "ce" or begun.startswith(f"ce_{labeler}_") or f"ce_{labeler}_".startswith(begun)


def _texts(joined: Joined, params: Params) -> tuple[Texts, Texts]:
    """References and reports in both forms in which the stage eval scores the arms'."""
    from radrl.pipelines.scored_texts import in_both_forms

    settings = params.eval.model_dump()
    sides = ([pair[side] for pair in joined.pairs] for side in (0, 1))
    references, reports = (
        in_both_forms([one.text for one in side], [one.label_text for one in side], settings)
        for side in sides
    )
    return references, reports


def _scored(
    scoring: Scoring, joined: Joined, both: tuple[Texts, Texts], params: Params, source: Mapping[str, Any]
) -> Result:
    """The figures of all pairs, with intervals over patients as the comparison has them."""
    references, reports = both
    numbers = list(range(1, len(joined.pairs) + 1))
    known = all(reference.patient for reference, _ in joined.pairs)
    patients = [reference.patient if known else str(i) for i, (reference, _) in enumerate(joined.pairs, 1)]
    pairs = Pairs(numbers, list(references.clinical), list(reports.clinical), list(map(str, patients)), {})
    places = {patient: place for place, patient in enumerate(dict.fromkeys(pairs.patients))}
    empty = sum(says_nothing(one.text) for _, one in joined.pairs)
    survey = Survey(Tally(len(numbers)), array("q", numbers), places if known else {}, empty)
    asked = params.compare.bootstrap
    drawn = Bootstrap(asked.resamples, asked.confidence, params.seed) if len(places) > 1 else None
    gathering = Gathering(scoring, survey, drawn)
    scores = {
        family: scorer.score(references.read_by(scorer), reports.read_by(scorer))
        for family, scorer in scoring.scorers.items()
    }
    scoring.wanted.require_found({family: [*one.corpus, *one.skipped] for family, one in scores.items()})
    labels = {one.name: (one.label(pairs.references), one.label(pairs.hypotheses)) for one in scoring.readers}
    gathering.add(pairs, Part(scores, labels))
    met = {
        "reports": len(numbers),
        "patient": "patient" if known else None,
        "patients": len(places) if known else None,
        "empty": empty,
        "bad_rows": 0,
        "unreported": len(joined.unreported),
        "without": len(joined.without),
        "elsewhere": len(joined.elsewhere),
    }
    return gathering.result({**source, **met}, scores)


_TEXTS: Final = ("reference", "hypothesis", "reference_label_text", "hypothesis_label_text")


def _rows(joined: Joined, references: Texts, reports: Texts) -> list[dict[str, str | None]]:
    forms = (references.wording, reports.wording, references.clinical, reports.clinical)
    return [
        {"study_id": one.study, "patient": one.patient, **dict(zip(_TEXTS, texts, strict=True))}
        for (one, _), *texts in zip(joined.pairs, *forms, strict=True)
    ]


def _unmatched(joined: Joined) -> list[dict[str, str | None]]:
    kinds = (
        ("reference", joined.unreported, "no released report"),
        ("reference", joined.without, "without the sections that are compared"),
        ("released", joined.elsewhere, "no reference"),
    )
    return [{"side": side, "study": one.study, "why": why} for side, some, why in kinds for one in some]


def _write(path: Path, rows: list[dict[str, str | None]], columns: Sequence[str]) -> None:
    import pyarrow as pa

    with table_at(path, None, pa.schema([(name, pa.string()) for name in columns])) as table:
        table.write(rows)


def _next(params: Params, name: str, file_name: str) -> None:
    """Print what params.yaml wants for the row."""
    import yaml

    if params.compare.systems.get(name) == file_name:
        click.echo("\nparams.yaml names the row: `radrl repro` runs compare again.")
        return
    systems = {**params.compare.systems, name: file_name}
    flow = yaml.safe_dump(systems, default_flow_style=True, sort_keys=False, width=1_000).strip()
    click.echo("\nWrite into params.yaml, and `radrl repro` runs compare alone again:")
    click.echo(f"\ncompare:\n  systems: {flow}")

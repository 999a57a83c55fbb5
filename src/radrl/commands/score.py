"""`radrl score`: references and hypotheses in, every metric by its protocol out.

The reports are read row by row, and then held: CIDEr weighs a word by all references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from radrl.commands.common import (
    CLASSES,
    STD,
    Given,
    bad_table,
    model_options,
    opened,
    reading_options,
    require_outputs,
    table_at,
)
from radrl.commands.metrics import WITHOUT_MODEL, names
from radrl.commands.pairs import Columns, Pairs, describe, read_pairs
from radrl.commands.result import Bootstrap, Result, as_text, assemble, report_rows, report_schema
from radrl.commands.run import run, set_up
from radrl.commands.tables import show
from radrl.data.records import Records
from radrl.data.writing import whole_file
from radrl.digests import sha256
from radrl.labelers.build import LABELERS
from radrl.scoring.build import FAMILIES

_ROWS: Final = 4096
"""Rows per report written at once."""

_EXAMPLES: Final = """\b
Examples:
  radrl score outputs.csv
  radrl score outputs.csv --reference findings --hypothesis generated --bootstrap 1000 --patient subject_id
  radrl score outputs.jsonl --metrics ce --labeler chexbert --model chexbert/ --device cuda
  radrl score outputs.csv --metrics 'ce_*_macro14_f1,nlg_bleu4' --json - | jq .metrics
  radrl score outputs.parquet --per-report rows.parquet --id study_id --json scores.json
  radrl score outputs.csv --metrics radgraph,green --settings params.yaml
  radrl score --list-metrics"""


def _list_metrics(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    for family in WITHOUT_MODEL:
        click.echo("\n".join([f"{family}:", *(f"  {name}" for name in names(family, ["rules"])), ""]))
    others = ", ".join(family for family in FAMILIES if family not in WITHOUT_MODEL)
    click.echo(f"{others}: with a model or environment of their own, see --settings.")
    click.echo("ce_LABELER_...: once for each --labeler.")
    ctx.exit()


@click.command("score", epilog=_EXAMPLES)
@click.option(
    "--reference", default="reference", show_default=True, metavar="COLUMN", help="The true reports."
)
@click.option(
    "--hypothesis", default="hypothesis", show_default=True, metavar="COLUMN", help="The generated reports."
)
@click.option(
    "--patient", metavar="COLUMN", help="Whose report it is: --bootstrap draws patients, not reports."
)
@click.option(
    "--metrics",
    metavar="LIST",
    help="Families, metrics or patterns, by commas.  [default: eval.families of --settings, else "
    f"{','.join(WITHOUT_MODEL)}]",
)
@click.option(
    "--list-metrics", is_flag=True, is_eager=True, expose_value=False, callback=_list_metrics,
    help="Name all metrics and exit.",
)  # fmt: skip
@click.option(
    "--labeler",
    "labelers",
    type=click.Choice(list(LABELERS)),
    multiple=True,
    help="Who reads the labels of ce (repeatable); a CheXbert needs --model.  [default: eval.labelers of "
    "--settings, else rules]",
)
@model_options
@click.option(
    "--bootstrap", type=click.IntRange(min=0), default=0, metavar="N", help="Resamples for intervals."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Coverage of the intervals (BCa).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@click.option(
    "--preparation",
    type=click.Choice(("basic", "whitespace")),
    help="Tokens of nlg: lower case and punctuation apart, or the text as it is.  [default: basic]",
)
@click.option("--no-meteor", is_flag=True, help="Without METEOR, which starts Java.")
@click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="YAML",
    help="A params.yaml, of which the sections eval and labeler count, or a file that is its section eval: "
    "where radgraph, green and radeval find their models.",
)
@click.option(
    "--json",
    "json_",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="OUT",
    help="All figures unrounded, per label, settings, versions. - is standard output, in the table's stead.",
)
@click.option(
    "--per-report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT",
    help="A row a report: number, --id, --patient, own scores, labels of both sides (ending as of FILE).",
)
@click.option(
    "--classes",
    type=click.Choice(list(CLASSES)),
    default="chexpert",
    show_default=True,
    help="How --per-report writes labels; see radrl label --help.",
)
@click.option("--with-texts", is_flag=True, help="The reports themselves in --per-report too.")
@reading_options
def command(
    given: Given,
    reference: str,
    hypothesis: str,
    patient: str | None,
    metrics: str | None,
    labelers: tuple[str, ...],
    model: Path | None,
    device: str,
    bootstrap: int,
    confidence: float,
    seed: int,
    preparation: str | None,
    no_meteor: bool,
    settings: Path | None,
    json_: Path | None,
    per_report: Path | None,
    classes: str,
    with_texts: bool,
) -> None:
    """Score generated reports in FILE (- is standard input), a row a report, against their references.

    Every metric's name states its protocol. Figures go to standard output as a table, everything to --json.

    A bad row has no reference or hypothesis (null, or no such key), an empty reference, which nothing can be
    compared with, or no --patient; it cannot be split into the header's columns, is no JSON object, or has
    bytes of another encoding. With a bad row nothing is scored, unless --skip-bad. An empty hypothesis is
    scored as it stands.

    FILE is read row by row; the texts are then held in memory, and --bootstrap takes 16 bytes times resamples
    times patients.
    """
    tables = {"--per-report": per_report, "--skip-bad": given.skip_bad}
    require_outputs(tables | {"--json": json_}, force=given.force, tables=list(tables))
    nlg = ({"preparation": preparation} if preparation else {}) | ({"meteor": False} if no_meteor else {})
    scoring = set_up(
        given,
        metrics=[item.strip() for item in (metrics or "").split(",") if item.strip()],
        labelers=labelers,
        model=model,
        device=device,
        settings=settings,
        nlg=nlg,
    )
    columns = Columns(reference, hypothesis, patient, given.ids)
    with opened(given) as records:
        pairs = read_pairs(given, records, columns)
        if repeated := pairs.repeated(given.ids):
            given.say(f"note: {repeated:,} rows have the --id of a row before them")
        if bootstrap and len(set(pairs.patients)) < 2:
            raise click.UsageError("--bootstrap draws patients, or reports, and there is only one")
        intervals = Bootstrap(bootstrap, confidence, seed) if bootstrap else None
        source = {"file": given.name, "sha256": sha256(records.path)} | describe(columns, pairs)
        result = assemble(source, scoring, run(given, scoring, pairs), pairs, intervals)
        own = pairs.own | ({reference: pairs.references, hypothesis: pairs.hypotheses} if with_texts else {})
        _write(given, records, result, own, pairs, json_, per_report, classes)
    if json_ == STD:
        click.echo(as_text(result), nl=False)
    else:
        show(result, brief=metrics is None)
    made = [str(path) for path in (json_, per_report, given.skip_bad) if path not in (None, STD)]
    given.say(f"scored {len(pairs.numbers):,} reports" + (f" -> {', '.join(made)}" if made else ""))


def _write(
    given: Given,
    records: Records,
    result: Result,
    own: Mapping[str, Sequence[Any]],
    pairs: Pairs,
    json_: Path | None,
    per_report: Path | None,
    classes: str,
) -> None:
    """Write every file, and put them in their places once all are whole."""
    with ExitStack() as stack:
        if given.skip_bad:
            take = stack.enter_context(bad_table(given, records))
            for row in pairs.bad:
                take(row)
        if json_ and json_ != STD:
            stack.enter_context(whole_file(json_)).write(as_text(result).encode())
        if per_report:
            schema = report_schema(own, pairs.types, result, words=classes == "words")
            table = stack.enter_context(table_at(per_report, None, schema))
            rows = report_rows(own, result, CLASSES[classes])
            while batch := list(islice(rows, _ROWS)):
                table.write(batch)

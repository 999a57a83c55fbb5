"""`radrl score`: references and hypotheses in, every metric by its protocol out.

The file is read twice, some rows at a time: CIDEr weighs a word by all references, which are counted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from radrl.commands.common import opened
from radrl.commands.options import STD, Given, model_options, reading_options
from radrl.commands.outputs import Outputs, Written, output_options
from radrl.commands.pairs import Columns, Pairs, Survey, batches, describe, survey
from radrl.commands.result import Bootstrap, Gathering, as_text, show
from radrl.commands.run import Run, set_up
from radrl.data.records import Records
from radrl.parts.find import names as part_names
from radrl.scoring.names import WITHOUT_MODEL, names
from radrl.storage.digests import sha256

_EXAMPLES: Final = """\b
Examples:
  radrl score outputs.csv
  radrl score outputs.csv --reference findings --hypothesis generated --bootstrap 1000 --patient subject_id
  radrl score outputs.jsonl --metrics ce --labeler chexbert --model chexbert/ --device cuda
  radrl score outputs.csv --metrics 'ce_*_macro14_f1,nlg_bleu4' --json - | jq .metrics
  radrl score outputs.parquet --per-report rows.parquet --id study_id --json scores.json
  radrl score outputs.csv --metrics radgraph,green --settings params.yaml
  radrl score outputs.csv --metrics weighted_findings --explain findings.csv --weights mine.csv
  radrl score --list-metrics"""


def _list_metrics(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    for family in WITHOUT_MODEL:
        click.echo("\n".join([f"{family}:", *(f"  {name}" for name in names(family, ["rules"])), ""]))
    others = ", ".join(family for family in part_names("metric") if family not in WITHOUT_MODEL)
    click.echo(f"{others}: with a model or environment of their own, see --settings.")
    click.echo("ce_LABELER_...: once for each --labeler.")
    ctx.exit()


def _list_weights(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from radrl.scoring.weighted_findings.tables import listed

    click.echo(listed(), nl=False)
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
    "--list-weights", is_flag=True, is_eager=True, expose_value=False, callback=_list_weights,
    help="Print what findings cost, as CSV with a reason a row, and exit.",
)  # fmt: skip
@click.option(
    "--labeler",
    "labelers",
    type=click.Choice(part_names("labeler")),
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
    type=click.Choice(("basic", "whitespace", "pycocoevalcap")),
    help="Tokens of nlg: lower case and punctuation apart; the text as it is; or that to the letter, two "
    "blanks holding an empty word for ROUGE-L.  [default: basic]",
)
@click.option("--no-meteor", is_flag=True, help="Without METEOR, which starts Java.")
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Of weighted_findings: what findings cost, in the columns concept, when and weight; what it does "
    "not name stays as --list-weights prints it.",
)
@click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="YAML",
    help="A params.yaml, of which the sections eval and labeler count, or a file that is its section eval: "
    "where radgraph, green and radeval find their models.",
)
@output_options
@reading_options
def command(
    given: Given,
    outputs: Outputs,
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
    weights: Path | None,
    settings: Path | None,
) -> None:
    """Score generated reports in FILE (- is standard input), a row a report, against their references.

    Every metric's name states its protocol. Figures go to standard output as a table, everything to --json.

    A bad row has no reference or hypothesis (null, or no such key), a reference that is empty or no report
    ("nan", "NA", digits), which nothing can be compared with, or no --patient; it cannot be split into the
    header's columns, is no JSON object, or has bytes of another encoding. With a bad row nothing is scored,
    unless --skip-bad. An empty hypothesis is scored as it stands.

    FILE is read twice, first to find bad rows, and never held as a whole: memory does not grow with the
    reports but for 24 bytes each, and 20 bytes for each different run of 1 to 4 words in the references
    (CIDEr). --bootstrap takes 16 bytes times resamples times patients, and about 3 kB a patient; a report
    counts as one without --patient. A metric with a model or environment of its own, or of one's own, gets
    all texts at once and holds them.
    """
    outputs.require(given)
    nlg = ({"preparation": preparation} if preparation else {}) | ({"meteor": False} if no_meteor else {})
    scoring = set_up(
        metrics=[item.strip() for item in (metrics or "").split(",") if item.strip()],
        labelers=labelers,
        model=model,
        device=device,
        settings=settings,
        nlg=nlg,
        weights=weights,
    )
    columns = Columns(reference, hypothesis, patient, given.ids)
    intervals = Bootstrap(bootstrap, confidence, seed) if bootstrap else None
    with opened(given) as records, Run(given, scoring) as run:
        found = survey(given, records, columns, run.learn)
        _require_scorable(given, found, intervals)
        run.ready(found.numbers)
        gathering = Gathering(scoring, found, intervals)
        with outputs.opened(given, records, columns, scoring, found) as written:
            for pairs in _again(given, records, columns, found, written):
                part = run.score(pairs)
                gathering.add(pairs, part)
                written.part(pairs, part)
            source = {"file": given.name, "sha256": sha256(records.path)} | describe(columns, found)
            result = gathering.result(source, run.corpus())
            written.figures(result)
    if outputs.json == STD:
        click.echo(as_text(result), nl=False)
    else:
        show(result, brief=metrics is None)
    made = ", ".join(map(str, outputs.written_files(given)))
    given.say(f"scored {len(found.numbers):,} reports" + (f" -> {made}" if made else ""))


def _again(
    given: Given, records: Records, columns: Columns, found: Survey, written: Written
) -> Iterator[Pairs]:
    """The pairs of the first reading once more.

    Raises:
        click.ClickException: when they are others.
    """
    at = 0
    with given.progress("scoring", found.tally.rows, "reports") as bar:
        for pairs in batches(records, columns, written.row, bar.update):
            same = found.numbers[at : at + len(pairs.numbers)].tolist() == pairs.numbers
            if not same or (columns.patient and not found.patients.keys() >= set(pairs.patients)):
                raise _changed(given)
            at += len(pairs.numbers)
            yield pairs
    if at != len(found.numbers):
        raise _changed(given)


def _changed(given: Given) -> click.ClickException:
    return click.ClickException(f"{given.name} has other rows than a moment ago: who writes to the file?")


def _require_scorable(given: Given, found: Survey, intervals: Bootstrap | None) -> None:
    """Say what is odd about the rows, and refuse to draw patients where there is only one."""
    if found.repeated:
        given.say(f"note: {found.repeated:,} rows have the --id of a row before them")
    if intervals and len(found.patients or found.numbers) < 2:
        raise click.UsageError("--bootstrap draws patients, or reports, and there is only one")

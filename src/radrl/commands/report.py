"""`radrl report`: films in, what a trained arm writes on them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa
from tqdm import tqdm

from radrl.commands.common import require_outputs, table_at
from radrl.commands.options import CLASSES, STD, classes_option
from radrl.commands.project import complete_arms, project_folder
from radrl.data.records import format_of
from radrl.observations import OBSERVATIONS

if TYPE_CHECKING:
    from rich.text import Text

    from radrl.labelers import Labeler
    from radrl.reporting import Report, Sample, TrainedArm, Weighed, Weigher
    from radrl.reports.prompts import Known

NOTICE: Final = "Research software, not a medical device: no report of it may be used to care for a patient."

_HEAVIEST: Final = 5
"""Pieces of a report that are named with their weights."""

_EXAMPLES: Final = """\b
Examples:
  radrl report film.png --arm deer
  radrl report films/ more/chest.dcm --arm grpo -o reports.csv
  radrl report film.png --arm deer --weights -o report.jsonl
  radrl report film.png --arm asked --age 61 --prior "$(cat before.txt)\""""


@click.command("report", epilog=_EXAMPLES)
@click.argument(
    "images", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="IMAGE..."
)
@click.option(
    "--arm",
    required=True,
    metavar="NAME",
    shell_complete=complete_arms,
    help="The trained arm that writes, by its name in params.yaml.",
)
@click.option("--indication", metavar="TEXT", help="Why the films were asked for, for a prompt that has it.")
@click.option("--age", type=click.IntRange(0, 120), help="The patient's age in years, likewise.")
@click.option("--prior", metavar="TEXT", help="The report of the patient's study before, likewise.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A table instead of text: .csv, .tsv, .jsonl or .parquet.",
)
@classes_option("How labels are written, as in `radrl label`.")
@click.option("--weights", is_flag=True, help="Also how much each word weighs (DiTPO's gradient).")
@click.option("--force", is_flag=True, help="Replace the table when it is there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notice on stderr.")
def command(
    images: tuple[Path, ...],
    arm: str,
    indication: str | None,
    age: int | None,
    prior: str | None,
    out: Path | None,
    classes: str,
    weights: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write reports on IMAGES with a trained arm, and the 14 labels that the rules read of them.

    IMAGES are PNG, JPEG or DICOM, or folders of them; a film is checked and fitted as ingest does it, and the
    arm is asked as its stage generate asks it. Where params.yaml has ingest.sample: study, a folder is one
    study, and so are all films that are named themselves. A film that cannot be read ends the command before
    anything is written. What an arm's prompt has a place for (docs/howto/prompts.md) is that of all IMAGES.
    """
    from radrl.reporting import batches, find_arm, samples
    from radrl.reports.prompts import require_places

    require_outputs({"-o": out}, force=force, tables=("-o",))
    root = project_folder(Path.cwd())
    trained = find_arm(root, arm)
    known = {"indication": indication, "age": age, "prior": prior}
    require_places(trained.asked.prompt, [name for name, value in known.items() if value is not None])
    chosen = samples(images, trained.asked.sample)
    if not quiet:
        click.echo(NOTICE + _drawn(trained), err=True)
    parts = list(batches(chosen, trained.asked.batch_size))
    with ExitStack() as stack:
        shown = _checked(chosen, trained, stack, quiet=quiet)
        written = _written(parts, shown, trained, root, stack, known=known, weights=weights)
        rows = _rows(written, _labeler(trained), classes)
        bar = tqdm(total=len(chosen), desc=arm, unit=" report", leave=False, disable=True if quiet else None)
        stack.enter_context(closing(bar))
        if out is None or out == STD:
            _print(rows, bar)
        else:
            _save(rows, out, weights=weights, classes=classes, bar=bar, stack=stack)
    if out is not None and out != STD and not quiet:
        click.echo(f"{len(chosen):,} reports -> {out}", err=True)


def _drawn(trained: TrainedArm) -> str:
    return " This arm has seen drawn films alone." if trained.params.ingest.source == "phantom" else ""


def _labeler(trained: TrainedArm) -> Labeler:
    from radrl.labelers import build

    return build(trained.params.labeler.model_dump(), name="rules")


def _checked(
    chosen: Sequence[Sample], trained: TrainedArm, stack: ExitStack, *, quiet: bool
) -> dict[Path, Path]:
    """Every film as the policy sees it, on disk: thousands would not fit into memory."""
    import tempfile

    from radrl.reporting import film_as_seen

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="radrl-report-")))
    paths = list(dict.fromkeys(path for sample in chosen for path in sample.paths))
    fitted = {}
    bar = tqdm(paths, desc="films", unit=" film", leave=False, disable=True if quiet else None)
    for number, path in enumerate(bar):
        fitted[path] = folder / f"{number}.png"
        fitted[path].write_bytes(film_as_seen(path, trained.asked))
    return fitted


def _written(
    parts: Sequence[Sequence[Sample]],
    fitted: dict[Path, Path],
    trained: TrainedArm,
    root: Path,
    stack: ExitStack,
    *,
    known: Known,
    weights: bool,
) -> Iterator[tuple[Sample, Report, Weighed | None]]:
    from radrl.reporting import Reporter

    weigher = _weigher(trained, root) if weights else None
    reporter = stack.enter_context(Reporter.open(trained.folder, trained.asked))
    for part in parts:
        films = [[fitted[path].read_bytes() for path in sample.paths] for sample in part]
        reports = reporter.write(films, known=[known] * len(films))
        weighed = weigher.weigh([report.text for report in reports]) if weigher else [None] * len(reports)
        yield from zip(part, reports, weighed, strict=True)


def _weigher(trained: TrainedArm, root: Path) -> Weigher:
    from radrl.reporting import Weigher

    return Weigher(trained, root)


def _rows(
    written: Iterator[tuple[Sample, Report, Weighed | None]], labeler: Labeler, classes: str
) -> Iterator[dict[str, Any]]:
    said = CLASSES[classes]
    for sample, report, weighed in written:
        [labels] = labeler.label([report.text]).tolist()
        row = {"image": sample.name, "report": report.text, "ended": report.ended}
        row |= dict(zip(OBSERVATIONS, [said[each] for each in labels], strict=True))
        pieces = [{"text": piece, "weight": value} for piece, value in weighed or ()]
        yield row | ({} if weighed is None else {"weights": pieces})


def _print(rows: Iterator[dict[str, Any]], bar: tqdm[Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    for row in rows:
        bar.update()
        bar.clear()
        console.print(Text(row["image"], style="bold"))
        console.print(_marked(row["weights"]) if "weights" in row else row["report"] or "(nothing)")
        positive = [name for name in OBSERVATIONS if row[name] in (1, "positive")]
        console.print(Text(f"positive: {', '.join(positive) or 'none'}", style="dim"))
        if not row["ended"]:
            console.print(Text("cut off at generate.max_new_tokens", style="yellow"))
        console.print("")


def _marked(pieces: Sequence[dict[str, Any]]) -> Text:
    """The report with its heavier half in bold, and the heaviest pieces with their weights."""
    from rich.text import Text

    text, heaviest = Text(), sorted(pieces, key=lambda piece: -piece["weight"])
    middle = heaviest[len(heaviest) // 2]["weight"] if heaviest else 1.0
    for piece in pieces:
        text.append(piece["text"], style="bold" if piece["weight"] > middle else "")
    told = [f"{piece['text'].strip()} {piece['weight']:.2f}" for piece in heaviest[:_HEAVIEST]]
    return text.append(f"\nheaviest: {', '.join(told) or 'none'}", style="dim")


def _save(
    rows: Iterator[dict[str, Any]],
    out: Path,
    *,
    weights: bool,
    classes: str,
    bar: tqdm[Any],
    stack: ExitStack,
) -> None:
    kind = pa.string() if classes == "words" else pa.int8()
    fields = [("image", pa.string()), ("report", pa.string()), ("ended", pa.bool_())]
    fields += [(name, kind) for name in OBSERVATIONS]
    if weights:
        fields.append(("weights", pa.list_(pa.struct([("text", pa.string()), ("weight", pa.float64())]))))
    with table_at(out, format_of(out), pa.schema(fields)) as table:
        for row in rows:
            table.write([row])
            bar.update()

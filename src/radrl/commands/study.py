"""`radrl study`: a study file in, its experiments by `radrl repro`, one table out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from pandas import DataFrame, concat

from kedro_repro.locks import alone
from kedro_repro.reproduce import stopped
from radrl.commands.project import Numbers, project_folder
from radrl.data.sources import is_drawn
from radrl.params.rows import row_digests
from radrl.params.schema import Params
from radrl.storage.whole_files import whole_file
from radrl.studies import analyses, clones, finished_seeds, gains, levelling, spread
from radrl.studies.budget import budgets, unequal
from radrl.studies.claims import across_runs
from radrl.studies.claims.page import lines, summary
from radrl.studies.claims.verdict import judge
from radrl.studies.claims.verdict import planned as planned_difference
from radrl.studies.curves import histories, over_seeds
from radrl.studies.execution import (
    ANALYSES,
    COMPARISON,
    PAIRS,
    Experiment,
    Repro,
    collect,
    experiments,
    run_all,
)
from radrl.studies.file import Study, read
from radrl.studies.page import Described, page, table

_EXAMPLES: Final = """\b
Examples:
  radrl study conf/recipes/study-deer-table4.yaml --dry-run
  radrl study conf/recipes/study-deer-table4.yaml
  radrl study conf/recipes/study-deer-figure1.yaml --seeds 0 --out figure1.md
  radrl study my-study.yaml --jobs 2 --allow-dirty
  radrl study my-study.yaml --seeds 10,11 --pack node-a.zip          # on one machine
  radrl study my-study.yaml --packed node-a.zip --packed node-b.zip  # on any: the page of all seeds"""

FOLDER: Final = Path("data/.studies")


@click.command("study", epilog=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--seeds",
    type=Numbers("different seeds, such as 0,1,2", different=True),
    metavar="LIST",
    help="Run these, by commas.  [default: the file's]",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page, Markdown, with its pictures; tables go beside it as CSV.  "
    f"[default: {FOLDER}/NAME/results.md, without pictures]",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Seeds that run at once."
)
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="Take uncommitted changes of code and wiring along, instead of refusing them: a clone holds the "
    "last commit.",
)
@click.option(
    "--pack",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What the page is made of goes into this zip file too, for --packed on another machine.",
)
@click.option(
    "--packed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Seeds that ran elsewhere are taken from this file of --pack.  [may be given several times]",
)
def command(
    file: Path,
    seeds: tuple[int, ...] | None,
    out: Path | None,
    dry_run: bool,
    jobs: int,
    allow_dirty: bool,
    pack: Path | None,
    packed: tuple[Path, ...],
) -> None:
    """Run the study in FILE: its arms, once for each run and seed, and one table of them all.

    FILE (conf/recipes/study-*.yaml) names a recipe, what is laid over it, arms, runs and seeds. Each run and
    seed is an experiment in a clone of the repository under data/.studies, with the project's DVC cache:
    stages that do not depend on what differs run once. Start a killed study again and it goes on where it
    was; a finished one only writes its page. The clones may be deleted: DVC's cache restores what they held.

    The page has for every metric and arm the mean and spread over seeds, the difference from the reference
    arm with interval, p and Holm's p, the rows that need no model and score higher, each arm's budget, and
    the paper's rows where FILE names them; whether the arms had levelled off when their training ended
    (NAME-levelling.csv); and how much of the spread between seeds is the test films and how much training
    (NAME-spread.csv). NAME-curves.csv has the arms' training curves over the seeds. With
    --out pictures lie beside the page NAME.md and stand in it: all rows (NAME.png), training curves
    (NAME-curves.png), and of arms with an oracle or FactS zero rewards and rare labels (NAME-rare.png).
    A study of `stage: analyses` has ways of masking and pools of films for rows, and neither budgets,
    curves nor pictures.

    Seeds may run on several machines: each with --seeds and --pack, then one with --packed. A file of --pack
    holds tables of numbers, no report and no film.
    """
    root = project_folder(Path.cwd())
    study = read(file, root)
    folder = root / FOLDER / study.name
    planned = experiments(study.values, seeds or study.seeds, folder, study.stage)
    place = click.get_current_context().with_resource(TemporaryDirectory())
    elsewhere = _elsewhere(study, planned, packed, Path(place))
    here = [one for one in planned if one.title not in elsewhere]
    planned = [elsewhere[one.title].experiment if one.title in elsewhere else one for one in planned]
    changed = clones.uncommitted(root) if here else []
    pictures, out = out is not None, out or folder / "results.md"
    if dry_run:
        _show(study, here, changed, root, out=out)
        return
    if changed and not allow_dirty:
        raise click.ClickException(_dirty(changed))
    if changed:
        click.echo(f"note: {len(changed)} uncommitted files are taken along", err=True)
    with alone(folder, "radrl study"):
        try:
            run_all(
                here,
                Repro(root, study.name),
                prepare=_preparing(root, changed),
                say=lambda line: click.echo(line, err=True),
                jobs=jobs,
            )
        except (KeyboardInterrupt, SystemExit) as end:
            raise stopped(end) from None
        several = len({one.seed for one in planned}) > 1  # a seed alone has nothing to be held against
        across = across_runs.errors(study.hypotheses, planned) if pack or several else DataFrame()
        if pack:
            errors = across if across_runs.any_asked(study.hypotheses) else None
            finished_seeds.pack(here, clones.commit(root), pack, errors)
        _write(study, planned, out, root, across, pictures=pictures, elsewhere=elsewhere.values())


def describe(study: Study, command: str) -> Described:
    """What a study's page says besides its numbers.

    Args:
        study: the study.
        command: what makes the page.

    Returns:
        Title, recipe, changes, metrics and budgets, as `page` takes them.
    """
    ingest, rows_alone = study.params.ingest, study.stage == ANALYSES
    return Described(
        study.title,
        study.recipe,
        study.changes,
        study.variations,
        ingest.source if ingest.away is None else f"{ingest.source}, away {ingest.away.source}",
        is_drawn(ingest.model_dump()),
        ingest.digest(),
        command,
        study.compared.metrics,
        study.compared.reference,
        study.params.compare.bootstrap.confidence,
        {} if rows_alone else budgets(study.runs),
        study.published,
        analyses.ABOUT if rows_alone else None,
        {} if rows_alone else {run: row_digests(one.model_dump()) for run, one in study.runs.items()},
    )


def _elsewhere(
    study: Study, planned: Sequence[Experiment], packed: Sequence[Path], folder: Path
) -> dict[str, finished_seeds.Finished]:
    """The experiments that files of finished seeds hold, by their titles."""
    try:
        found = [one for path in packed for one in finished_seeds.unpack(planned, path, folder)]
        finished_seeds.require_once(found)
        if across_runs.any_asked(study.hypotheses):
            finished_seeds.require_whole_seeds(planned, found)
    except finished_seeds.PackError as error:
        raise click.ClickException(str(error)) from None
    return {one.experiment.title: one for one in found}


def _preparing(root: Path, changed: list[str]) -> Callable[[Experiment], None]:
    def prepare(experiment: Experiment) -> None:
        clones.prepare(root, experiment.clone, experiment.params, changed)

    return prepare


def _write(
    study: Study,
    planned: list[Experiment],
    out: Path,
    root: Path,
    across: DataFrame,
    *,
    pictures: bool,
    elsewhere: Collection[finished_seeds.Finished],
) -> None:
    file = study.file.resolve()
    shown = file.relative_to(root) if file.is_relative_to(root) else file.name
    said = replace(describe(study, f"radrl study {shown}"), elsewhere=finished_seeds.by_commit(elsewhere))
    from radrl.studies.figures import Picture, draw_pictures, section

    comparisons, curves, drawn = _comparisons(study, planned), DataFrame(), list[Picture]()
    ended = levelling.over_seeds(histories(planned), said.metrics)
    pairs = _pairs(study, comparisons, planned, across, said.level)
    claims = _claims(study, comparisons, pairs, said, ended)
    taken_apart = _spread(study, comparisons, pairs, said)
    if study.stage != ANALYSES:
        curves = over_seeds(planned)
        drawn = draw_pictures(comparisons, curves, study.runs, said, stem=out.stem) if pictures else []
    ends = levelling.section(ended, runs=len(study.runs) > 1) if ended else ()
    several = len(study.runs) > 1
    spreads = spread.section(taken_apart, study.hypotheses, said.metrics, runs=several, level=said.level)
    gained = gains.lines(comparisons, gains.runs_by_split(study.runs), level=said.level)
    gaps = gains.section(gained, said.metrics, said.reference)
    text = page(comparisons, said, claims, section(drawn) if drawn else (), ends, spreads, gaps)
    files = {out: text.encode(), out.with_suffix(".csv"): _csv(table(comparisons, said))}
    tables = {"claims": claims, "curves": curves.round(5), "levelling": levelling.lines(ended)}
    tables |= {"spread": spread.lines(taken_apart), "gains": gained}
    for name, lines_of in tables.items():
        if len(lines_of):
            files[out.with_name(f"{out.stem}-{name}.csv")] = _csv(lines_of)
    files |= {out.with_name(one.name): one.content for one in drawn}
    out.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for path, content in files.items():
            stack.enter_context(whole_file(path)).write(content)
    click.echo(f"{len(planned)} experiments -> {', '.join(map(str, files))}", err=True)
    if len(claims):
        click.echo(summary(claims), err=True)


def _comparisons(study: Study, planned: list[Experiment]) -> DataFrame:
    if study.stage == ANALYSES:
        return analyses.comparisons(planned, study.compared.metrics)
    return collect(planned, COMPARISON)


def _pairs(
    study: Study, comparisons: DataFrame, planned: list[Experiment], across: DataFrame, level: float
) -> DataFrame:
    """The errors over patients of any two rows; none of one seed, nor of a study that has not kept them."""
    kept = study.stage == ANALYSES or all((one.clone / PAIRS).is_file() for one in planned)
    if len({one.seed for one in planned}) == 1 or not (study.hypotheses or kept):
        return DataFrame()
    if study.stage == ANALYSES:
        return analyses.errors(comparisons, study.compared.reference, level=level)
    return concat([collect(planned, PAIRS), across])


def _claims(
    study: Study,
    comparisons: DataFrame,
    pairs: DataFrame,
    said: Described,
    ended: Sequence[levelling.Levelled],
) -> DataFrame:
    """What became of the study's claims, a line a claim and metric."""
    tested = judge(study.hypotheses, comparisons, pairs, ended, level=said.level)
    return lines(tested, study=study.name, command=said.command, drawn=said.drawn, published=study.published)


def _spread(study: Study, comparisons: DataFrame, pairs: DataFrame, said: Described) -> list[spread.Parts]:
    """Where the spread between seeds comes from; not of analyses, whose rows are not trained."""
    if study.stage == ANALYSES:
        return []
    return spread.parts(
        study.hypotheses, comparisons, pairs, reference=said.reference, metrics=said.metrics, level=said.level
    )


def _csv(table: DataFrame) -> bytes:
    return str(table.to_csv(index=False, lineterminator="\n")).encode()


def _dirty(changed: list[str]) -> str:
    shown = "\n".join(f"  {path}" for path in changed[:10])
    more = f"\n  and {len(changed) - 10} more" if len(changed) > 10 else ""
    return (
        f"uncommitted changes, which the clones would not have:\n{shown}{more}\n"
        "Commit them, or take them along with --allow-dirty."
    )


def _show(study: Study, planned: list[Experiment], changed: list[str], root: Path, *, out: Path) -> None:
    click.echo(f"{study.name}: {study.title}")
    click.echo(f"recipe      {study.recipe}")
    for key, value in study.changes.items():
        click.echo(f"  {key} = {value}")
    for name, params in study.runs.items():
        (_show_rows if study.stage == ANALYSES else _show_run)(name, params, study)
    if study.stage != ANALYSES and (said := unequal(budgets(study.runs))):
        click.echo(f"budget      {said}")
    _show_claims(study, len({one.seed for one in planned}))
    click.echo(f"experiments {len(planned)}, in {FOLDER / study.name}")
    for one in planned:
        click.echo(f"  {one.title:20s} {_state(one, root)}")
    click.echo(f"page        {out}")
    if changed:
        click.echo(f"uncommitted {len(changed)} files: commit them, or --allow-dirty")


def _show_claims(study: Study, seeds: int) -> None:
    """What the study asks, and the least difference that it would see where a spread is expected."""
    families = Counter(one.family for one in study.hypotheses)
    for one in study.hypotheses:
        sees = ""
        if one.expected_spread is not None and seeds > 1:
            sees = f", sees {planned_difference(one.expected_spread, seeds, families[one.family]):.3f}"
        click.echo(f"claim       {one.claim.says}: {one.metric}, {one.claim.margin:g} matters{sees}")


def _show_run(name: str, params: Params, study: Study) -> None:
    click.echo(f"run         {name}" if name else "arms")
    for key, value in study.variations[name].items():
        click.echo(f"  {key} = {value}")
    for (_, arm), one in budgets({name: params}).items():
        mark = " (the others are tested against it)" if arm == params.compare.reference else ""
        row = study.published.rows.get((name, arm)) if study.published else None
        beside = f", beside {row!r}" if row else ""
        trains = f"updates {one.length}, rollouts {one.sampled}, on {one.selection}"
        click.echo(f"  {arm:20s} {one.start}, {trains if one.trains else 'as it is'}{beside}{mark}")


def _show_rows(name: str, params: Params, study: Study) -> None:
    click.echo(f"run         {name}" if name else "rows")
    for key, value in study.variations[name].items():
        click.echo(f"  {key} = {value}")
    for metric, rows in analyses.rows_by_metric(params).items():
        if metric in study.compared.metrics:
            click.echo(f"  {metric}: {', '.join(rows)}")
    click.echo(f"  differences are from {study.compared.reference}")


def _state(one: Experiment, root: Path) -> str:
    if not one.clone.is_dir():
        return "not started"
    stages = clones.out_of_date(root, one.clone, one.params, one.stage)
    if stages is None:
        return "there, of another commit or other parameters: what these change runs again"
    return f"{len(stages)} stages to run: {', '.join(stages[:6])}" if stages else "done"

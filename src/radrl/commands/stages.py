"""`radrl code` and `radrl dag`: the pipeline's stages: digests of their code, a drawing of their order."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import radrl
from radrl.commands.project import project_folder
from radrl.storage import yaml_files

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_CODE: Final = """\b
Examples:
  radrl code                     write data/08_reporting/code.yaml; `dvc repro` does this first of all
  radrl code --print             the digests, and nothing is written
  radrl code train@grpo          the files whose change runs this stage again"""

_OF_DAG: Final = """\b
Examples:
  radrl dag                      what comes before what
  dvc dag train@deer             one stage and all that it reads, every arrow drawn
  dvc dag --dot | dot -Tsvg      all stages and arrows as a picture (Graphviz)"""


@click.command("code", epilog=_OF_CODE)
@click.argument("stage", required=False)
@click.option("--print", "prints", is_flag=True, help="Print the digests and change no file.")
def code(stage: str | None, prints: bool) -> None:
    """Write a digest of what each stage's code does, or list the files that are the code of STAGE.

    A stage runs again when its digest changes: comments, docstrings and layout have no part in it, nor has a
    reward, credit, source, metric or judge that params.yaml does not name for the stage's arm.
    """
    root = project_folder(Path.cwd())
    _be_of(root)
    from kedro_repro.code_command import tell_code
    from kedro_repro.project import load

    tell_code(load(root), yaml_files.read(root / "params.yaml"), stage, prints=prints)


def _be_of(root: Path) -> None:
    """Start again with the project's own package where another is installed: Kedro runs the project's.

    Raises:
        click.ClickException: when that does not help.
    """
    source = root / "src"
    if not (source / "radrl").is_dir() or Path(radrl.__file__).is_relative_to(source):
        return
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if path[0] == str(source):
        raise click.ClickException(
            f"the package that runs lies in {Path(radrl.__file__).parent}, not in {source}, although "
            "PYTHONPATH names that first; start the environment's own `radrl`, without -I or -E"
        )
    own = os.pathsep.join([str(source), *filter(None, path)])
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONPATH": own})


@click.command("dag", epilog=_OF_DAG)
def dag() -> None:
    """Draw the pipeline: what comes before what, from top to bottom.

    The stages of dvc.yaml, those of all arms as one, and the arrows that follow from no others. The stage
    code is left out: it comes before all.
    """
    from dvc.repo import Repo

    with Repo(project_folder(Path.cwd())) as repo:
        stages = repo.index.graph.nodes
        reads = [(after.addressing, before.addressing) for after, before in repo.index.graph.edges]
        click.echo(draw_graph([stage.addressing for stage in stages], reads))


def draw_graph(stages: Iterable[str], reads: Iterable[tuple[str, str]]) -> str:
    """Draw stages as text.

    Args:
        stages: their names; STAGE@ARM are drawn as one STAGE.
        reads: pairs of a stage and one that it reads from.

    Returns:
        The drawing of those arrows that follow from no others, with no blanks at the ends of its lines.
    """
    import networkx
    from dvc.dagascii import draw

    graph: Any = networkx.DiGraph()
    graph.add_nodes_from(map(_stage, stages))
    graph.add_edges_from((_stage(after), _stage(before)) for after, before in reads)
    graph.remove_nodes_from(["code"])
    graph.remove_edges_from([*networkx.selfloop_edges(graph)])
    fewest = networkx.transitive_reduction(graph)
    lines = draw(list(graph.nodes), sorted(fewest.edges)).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _stage(addressing: str) -> str:
    """A stage without its arm, as it is drawn."""
    name, _, arm = addressing.partition("@")
    return f"{name} @ARM" if arm else name

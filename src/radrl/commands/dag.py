"""`radrl dag`: the pipeline as DVC draws it, without what makes that drawing too wide for a screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from radrl.commands.project import project_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXAMPLES: Final = """\b
Examples:
  radrl dag                      what comes before what
  dvc dag train@deer             one stage and all that it reads, every arrow drawn
  dvc dag --dot | dot -Tsvg      all stages and arrows as a picture (Graphviz)"""


@click.command("dag", epilog=_EXAMPLES)
def command() -> None:
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

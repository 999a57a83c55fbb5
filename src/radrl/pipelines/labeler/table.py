"""The compact labeler's agreement as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

MEANS: Final = ("macro_f1", "macro_f1_uncertain_pos")


def show(compact: Mapping[str, Any]) -> None:
    """Print how far the compact CheXbert agrees with the rules.

    Args:
        compact: of `radrl.pipelines.labeler.nodes.check_labelers`, its entry `compact`.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("compact CheXbert against the rules", no_wrap=True)
    for head in ("F1", "reports", "F1, or uncertain", "reports"):
        table.add_column(head, justify="right")
    for name, row in compact["observations"].items():
        scores = [f"{row[key]:.3f}" for key in ("f1", "f1_uncertain_pos")]
        counts = [str(row[key]) for key in ("support", "support_uncertain_pos")]
        table.add_row(name, scores[0], counts[0], scores[1], counts[1], style="" if row["support"] else "dim")
    means = [
        "-" if compact[key] is None else f"{compact[key]:.3f}"
        for key in ("macro_f1", "macro_f1_uncertain_pos")
    ]
    table.add_row("mean where 20 or more have it", means[0], "", means[1], "", style="bold")
    console = Console()
    console.print()
    console.print(table)
    console.print(
        f"{compact['unseen_reports']} reports it has not seen; learned from {compact['training_reports']}"
    )

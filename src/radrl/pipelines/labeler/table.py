"""The compact labeler's agreement as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console

from radrl.process.terminal import new_table, number

READINGS: Final = ("", "_uncertain_pos")
"""Ends of the names of figures: positive alone, positive or uncertain."""


def show(compact: Mapping[str, Any]) -> None:
    """Print how far the compact CheXbert agrees with the rules.

    Args:
        compact: of `radrl.pipelines.labeler.nodes.check_labelers`, its entry `compact`.
    """
    table = new_table("compact CheXbert against the rules", "F1", "reports", "F1, or uncertain", "reports")
    for name, row in compact["observations"].items():
        cells = [number(row[f"{key}{reading}"]) for reading in READINGS for key in ("f1", "support")]
        table.add_row(name, *cells, style="" if row["support"] else "dim")
    means = [cell for reading in READINGS for cell in (number(compact[f"macro_f1{reading}"]), "")]
    table.add_row("mean where 20 or more have it", *means, style="bold")
    console = Console()
    console.print()
    console.print(table)
    console.print(
        f"{compact['unseen_reports']} reports it has not seen; learned from {compact['training_reports']}"
    )

"""`radrl rexrank-pairs`: predictions in ReXrank's form beside their references, as a table to score."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from radrl.commands.common import require_outputs

_EXAMPLES: Final = """\b
Examples:
  radrl rexrank-pairs predictions.json pairs.csv
  radrl score pairs.csv --id study_id --settings conf/rexrank/score.yaml --bootstrap 1000
  radrl score pairs.csv --id study_id --patient patient --metrics ce,nlg"""


@click.command("rexrank-pairs", epilog=_EXAMPLES)
@click.argument("predictions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("pairs", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace PAIRS when it is there.")
def command(predictions: Path, pairs: Path, force: bool) -> None:
    """Write the pairs of PREDICTIONS, a file in ReXrank's form, as the table PAIRS (.csv, .jsonl, .parquet).

    Any system's file will do. The columns are study_id, reference, hypothesis, and patient where every study
    has a subject_id. References are put together as ReXrank's evaluation does: "Findings: ... Impression:
    ...", "None" for a section that is absent. A study without prediction or reference is named, and nothing
    is written.
    """
    import pyarrow as pa

    from radrl.commands.common import table_at
    from radrl.rexrank.references import read, rows

    require_outputs({"PAIRS": pairs}, force=force, tables=["PAIRS"])
    table = list(rows(read(predictions)))
    schema = pa.schema([(name, pa.string()) for name in table[0]])
    with table_at(pairs, None, schema) as written:
        written.write(table)
    click.echo(f"{len(table):,} pairs -> {pairs}", err=True)

"""`radrl rexrank`, reports on ReXrank's studies by a trained arm, and `radrl rexrank-pairs`, to score it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import click
from tqdm import tqdm

from radrl.commands.common import require_outputs
from radrl.commands.project import complete_arms, project_folder
from radrl.process.devices import ASKED

_EXAMPLES: Final = """\b
Examples:
  radrl rexrank ReXRank_IUXray_valid.json predictions.json images/ --arm deer
  radrl rexrank ReXRank_MIMICCXR_test.json predictions.json files/ --arm deer --device cuda
  radrl rexrank-pairs predictions.json pairs.csv"""


@click.command("rexrank", epilog=_EXAMPLES)
@click.argument("input_json", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("output_json", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("img_root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--arm",
    required=True,
    metavar="NAME",
    shell_complete=complete_arms,
    help="The trained arm that writes, by its name in params.yaml.",
)
@click.option("--device", help=f"Where the policy computes: {ASKED}.  [default: params.yaml's]")
@click.option("--force", is_flag=True, help="Replace OUTPUT_JSON when it is there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def command(
    input_json: Path,
    output_json: Path,
    img_root: Path,
    arm: str,
    device: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Write a report for every study of INPUT_JSON, ReXrank's file, whose films lie below IMG_ROOT.

    OUTPUT_JSON is INPUT_JSON with the report as model_prediction in every entry. It is written once all are
    there; a run that was stopped left OUTPUT_JSON.unfinished, and the same command goes on from there.

    An arm that was trained on single films (ingest.sample: image) sees the frontal film that ReXrank names,
    key_image_path; one that was trained on studies sees all films of ingest.views. Where the arm's prompt has
    places for age and indication, those of INPUT_JSON stand there; it has no prior report.

    Research software: its reports are for benchmarks and not for the care of a patient.
    """
    from radrl.reporting import Reporter, find_arm
    from radrl.rexrank.form import films, located, read
    from radrl.rexrank.predictions import ArmWriter, about, fill
    from radrl.storage.digests import sha256

    require_outputs({"OUTPUT_JSON": output_json}, force=force)
    trained = find_arm(project_folder(Path.cwd()), arm)
    asked = replace(trained.asked, device=device or trained.asked.device)
    whole, views = asked.sample == "study", trained.params.ingest.views
    studies = read(input_json)
    files = located({study.key: films(study, whole=whole, views=views) for study in studies}, img_root)
    own = about(trained, asked) | {"input": sha256(input_json), "img_root": str(img_root.resolve())}
    with (
        Reporter.open(trained.folder, asked) as reporter,
        tqdm(total=len(studies), desc=arm, unit=" reports", disable=True if quiet else None) as bar,
    ):
        writer = ArmWriter(reporter, asked)
        taken = fill(
            studies, files, writer, output_json, about=own, at_once=asked.batch_size, done=bar.update
        )
    if not quiet:
        before = f" ({taken:,} of them by a run that was stopped)" if taken else ""
        click.echo(f"{len(studies):,} reports{before} -> {output_json}", err=True)


_PAIRS_EXAMPLES: Final = """\b
Examples:
  radrl rexrank-pairs predictions.json pairs.csv
  radrl score pairs.csv --id study_id --settings conf/rexrank/score.yaml --bootstrap 1000
  radrl score pairs.csv --id study_id --patient patient --metrics ce,nlg"""


@click.command("rexrank-pairs", epilog=_PAIRS_EXAMPLES)
@click.argument("predictions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("pairs", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace PAIRS when it is there.")
def pairs(predictions: Path, pairs: Path, force: bool) -> None:
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

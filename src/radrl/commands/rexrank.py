"""`radrl rexrank`: reports on ReXrank's studies by a trained arm, in ReXrank's form."""

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
    key_image_path; one that was trained on studies sees all films of ingest.views. Age, indication and prior
    reports, which ReXrank gives as context, are not read: no policy here takes them.

    Research software: its reports are for benchmarks and not for the care of a patient.
    """
    from radrl.reporting.arms import find
    from radrl.reporting.reporter import Reporter
    from radrl.rexrank.arm import ArmWriter, about
    from radrl.rexrank.form import films, located, read
    from radrl.rexrank.predictions import fill
    from radrl.storage.digests import sha256

    require_outputs({"OUTPUT_JSON": output_json}, force=force)
    trained = find(project_folder(Path.cwd()), arm)
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

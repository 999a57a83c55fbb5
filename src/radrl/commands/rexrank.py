"""`radrl rexrank`: reports on ReXrank's studies by a trained arm, in ReXrank's form."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from tqdm import tqdm

from radrl.commands.common import require_outputs
from radrl.commands.project import project
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
@click.option("--arm", required=True, metavar="NAME", help="The arm of params.yaml that writes.")
@click.option(
    "--params",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What the arm was trained with.  [default: the project's params.yaml]",
)
@click.option(
    "--policy",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of its policy.  [default: where the stage train puts it]",
)
@click.option("--device", help=f"Where the policy computes: {ASKED}.  [default: params.yaml's]")
@click.option("--force", is_flag=True, help="Replace OUTPUT_JSON when it is there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def command(
    input_json: Path,
    output_json: Path,
    img_root: Path,
    arm: str,
    params: Path | None,
    policy: Path | None,
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

    This is research software. Its reports are for benchmarks, not for patients.
    """
    from radrl.params.schema import read as read_params
    from radrl.rexrank.arm import Arm, policy_of
    from radrl.rexrank.form import films, located, read
    from radrl.rexrank.predictions import fill
    from radrl.storage.digests import sha256

    require_outputs({"OUTPUT_JSON": output_json}, force=force)
    root = project(Path.cwd())
    own = Arm(arm, read_params(params or root / "params.yaml"), policy or policy_of(arm, root))
    studies = read(input_json)
    chosen = {study.key: films(study, whole=own.sample == "study", views=own.views) for study in studies}
    files = located(chosen, img_root)
    about = {"input": sha256(input_json), "img_root": str(img_root.resolve()), **own.about}
    with (
        own.opened(device) as reporter,
        tqdm(total=len(studies), desc="writing", unit=" reports", disable=True if quiet else None) as bar,
    ):
        taken = fill(studies, files, reporter, output_json, about=about, at_once=own.at_once, done=bar.update)
    if not quiet:
        before = f" ({taken:,} of them by a run that was stopped)" if taken else ""
        click.echo(f"wrote {len(studies):,} reports{before} -> {output_json}", err=True)

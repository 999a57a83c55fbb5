"""What one process of bench/scaling measures: a stage's own nodes over the first studies of one corpus."""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import yaml

from radrl.data import corpus as corpora

ROOT: Final = Path(__file__).resolve().parents[1]
POLICY: Final = ROOT / "data/06_models/radrl-tiny"
FEW: Final = 16
"""Studies of the run before the measured one, which pays for imports, lexicons and the model."""
SAMPLES: Final = 10
"""Rollouts a study ("K = 10", DEER)."""
NEW_TOKENS: Final = 24
"""Of a rollout: fewer than the 96 as shipped, the tokens being what they cost."""


def settings() -> dict[str, Any]:
    """params.yaml, with one process that decodes films."""
    params: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["ingest"] |= {"workers": 1, "max_quarantined_share": 1.0}
    return params


def ingested(own: dict[str, Any], out: Path, seed: int = 0) -> None:
    """The stage ingest, without Kedro around it.

    Args:
        own: the section `ingest`.
        out: takes `corpus`.
        seed: of drawn films.
    """
    from radrl.datasets import ArrowShards
    from radrl.pipelines.ingest import read_source, report_quarantine

    workspace = out / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    files, passing = read_source(own, seed, workspace)
    corpus = ArrowShards(str(out / "corpus"))
    corpus.save(files)
    report_quarantine(passing, corpus.load(), own)


def make_inputs(folder: Path, sizes: Sequence[int], *, labelers: bool) -> None:
    """What the stages before would have written: a folder a size, and what all sizes share.

    Args:
        folder: takes the sizes' folders, films and labelers.
        sizes: numbers of studies.
        labelers: whether the compact CheXbert is asked for, which takes the longest.
    """
    _make_all(folder, max(sizes), labelers)
    for studies in sorted({FEW, *sizes}):
        _cut(folder, folder / str(studies), studies)


def _make_all(folder: Path, studies: int, labelers: bool) -> None:
    """The inputs of the largest size."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    from radrl.pipelines.label import label_reports

    params = settings()
    own = params["ingest"] | {"workers": None}
    own["phantom"] |= {"studies": {"train": studies + studies // 10 + FEW}}  # some are quarantined
    ingested(own, folder)
    corpus = corpora.opened(folder / "corpus").head(studies)
    shutil.rmtree(folder / "corpus")
    pq.write_table(corpus, folder / "corpus.parquet")
    label_reports(ds.dataset(corpus), folder, params["labeler"]).to_parquet(folder / "labels.parquet")
    _write_texts(corpus, folder)
    _write_films(corpus, folder / "films")
    if labelers:
        _make_labelers(corpus, params["labeler"], folder / "labelers")


def _write_texts(corpus: Any, folder: Path) -> None:
    """Rollouts and an arm's reports: the reports of other studies.

    They are of the same thousand studies, so that a study's have as much in common at every size.
    """
    import numpy as np
    import pandas as pd

    rows = corpus.select(["sample_id", "study_id", "patient_id", "report", "label_text"]).to_pandas()
    studies, texts = len(rows), rows["report"].to_numpy()
    first = np.arange(studies)[:, None] // 1000 * 1000  # (N, 1)
    among = np.minimum(1000, studies - first)
    picked = first + np.random.default_rng(0).integers(0, among, (studies, SAMPLES))
    rollouts = {"sample_id": rows["sample_id"].repeat(SAMPLES), "report": texts[picked.ravel()]}
    table = pd.DataFrame(rollouts).assign(rollout=np.tile(np.arange(SAMPLES), studies))
    table.to_parquet(folder / "rollouts.parquet", index=False)
    reports = rows.rename(columns={"report": "reference", "label_text": "reference_label_text"})
    reports.assign(report=texts[picked[:, 0]]).to_parquet(folder / "reports.parquet", index=False)


def _make_labelers(corpus: Any, own: dict[str, Any], folder: Path) -> None:
    """A compact CheXbert that has learned little: its speed does not depend on that."""
    from radrl.datasets import Folder
    from radrl.pipelines.labeler import make_labelers

    compact = own["compact"] | {"recombined": 2000}
    make, _ = make_labelers(_halves(corpus), own | {"compact": compact}, 0, 1, _silent)
    Folder(str(folder)).save(make)


def _halves(corpus: Any) -> Any:
    """The first reports as the two splits that the labeler is trained on."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    few = corpus.slice(0, 500)
    half = few.num_rows // 2
    splits = pa.array(["pretrain"] * half + ["train"] * (few.num_rows - half))
    return ds.dataset(few.set_column(few.schema.get_field_index("split"), "split", splits))


def _silent(_step: int, _values: Any) -> None:
    """Nothing is reported of the labeler's training."""


def _write_films(corpus: Any, folder: Path) -> None:
    """The films as files, beside a CSV that names them."""
    folder.mkdir()
    names = []
    for row in corpus.select(["sample_id", "images"]).to_pylist():
        names.append(f"{row['sample_id']}.png")
        (folder / names[-1]).write_bytes(row["images"][0])
    table = corpus.select(["study_id", "patient_id", "report"]).to_pandas()
    table.assign(image=names).to_csv(folder / "reports.csv", index=False)


def _cut(inputs: Path, out: Path, studies: int) -> None:
    """The first studies of every input."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    def first(name: str, rows: int) -> pa.Table:
        return ds.dataset(inputs / f"{name}.parquet").head(rows)

    (out / "corpus").mkdir(parents=True)
    size = settings()["ingest"]["films_per_shard"]
    corpus = first("corpus", studies)
    for number, start in enumerate(range(0, studies, size)):
        corpora.write(corpus.slice(start, size), out / "corpus" / f"part-{number:05d}.arrow")
    for name, rows in {"labels": studies, "rollouts": SAMPLES * studies, "reports": studies}.items():
        pq.write_table(first(name, rows), out / f"{name}.parquet")
    table = pd.read_csv(inputs / "films/reports.csv", dtype=str, nrows=studies)
    table.to_csv(out / "reports.csv", index=False)


def _ingest_drawn(_inputs: Path, _own: Path, out: Path, studies: int) -> None:
    ingest = settings()["ingest"]
    ingest["phantom"] |= {"studies": {"train": studies}}
    ingested(ingest, out)


def _ingest_csv(inputs: Path, own: Path, out: Path, _studies: int) -> None:
    ingest = settings()["ingest"] | {"source": "csv"}
    named = {"image": "image", "report": "report", "patient": "patient_id", "study": "study_id"}
    columns = ingest["csv"]["columns"] | named
    ingest["csv"] |= {
        "path": str(own / "reports.csv"),
        "image_root": str(inputs / "films"),
        "columns": columns,
    }
    ingested(ingest | {"target": "report"}, out)


def _label(inputs: Path, own: Path, _out: Path, _studies: int) -> None:

    from radrl.pipelines.label import label_reports

    label_reports(corpora.opened(own / "corpus"), inputs / "labelers", settings()["labeler"])


def _rollouts(_inputs: Path, own: Path, out: Path, _studies: int) -> None:

    from radrl.datasets import ParquetShards
    from radrl.pipelines.rollouts import sample_rollouts

    params = settings()
    rollouts = params["rollouts"] | {"samples": SAMPLES, "max_new_tokens": NEW_TOKENS}
    workspace = out / "workspace"
    workspace.mkdir()
    corpus = corpora.opened(own / "corpus")
    place = {"seed": 0, "threads": 1, "device": "cpu", "workspace": workspace}
    made = sample_rollouts(corpus, POLICY, rollouts, "float32", params["prompts"]["plain"], **place)
    ParquetShards(str(out / "rollouts")).save(made)


def _selection(_inputs: Path, own: Path, _out: Path, studies: int) -> None:
    import pandas as pd

    from radrl.pipelines.selection import make_subsets

    selection = settings()["selection"]
    share = selection["balanced"]["studies"] / settings()["ingest"]["phantom"]["studies"]["train"]
    selection["balanced"] = {"studies": max(1, int(share * studies))}
    make_subsets(corpora.opened(own / "corpus"), pd.read_parquet(own / "labels.parquet"), selection, 0)


def _ddsampling(inputs: Path, own: Path, _out: Path, _studies: int) -> None:
    import pandas as pd
    import pyarrow.dataset as ds

    from radrl.pipelines import ddsampling

    params = settings()
    selection = params["selection"]
    read = ddsampling.label_rollouts(
        ds.dataset(own / "rollouts.parquet"), inputs / "labelers", params["labeler"]
    )
    diversity = ddsampling.score_diversity(read, selection["ddsampling"], 0)
    top = ddsampling.take_most_diverse(read, selection["most_diverse"], 0)
    ddsampling.take_drawn(
        diversity, top, corpora.opened(own / "corpus"), pd.read_parquet(own / "labels.parquet")
    )


def _eval(inputs: Path, own: Path, **changed: Any) -> None:
    import pandas as pd

    from radrl.pipelines.eval import score_reports

    params = settings()
    reports = pd.read_parquet(own / "reports.parquet")
    score_reports(reports, inputs / "labelers", params["eval"] | changed, params["labeler"])


def _eval_without_meteor(inputs: Path, own: Path, _out: Path, _studies: int) -> None:
    _eval(inputs, own, nlg=settings()["eval"]["nlg"] | {"meteor": False})


def _eval_meteor(inputs: Path, own: Path, _out: Path, _studies: int) -> None:
    _eval(inputs, own, families=["nlg"], nlg=settings()["eval"]["nlg"] | {"meteor": True}, labelers=["rules"])


STAGES: Final[dict[str, Callable[[Path, Path, Path, int], None]]] = {
    "ingest-drawn": _ingest_drawn,
    "ingest-csv": _ingest_csv,
    "label": _label,
    "rollouts": _rollouts,
    "selection": _selection,
    "ddsampling": _ddsampling,
    "eval": _eval_without_meteor,
    "eval-meteor": _eval_meteor,
}
"""By name, a stage: given all inputs, those cut to its studies, a folder for its own, and how many."""


def run(stage: str, inputs: Path, studies: int, found: Path) -> None:
    """Run a stage over a few studies, then over the asked ones, and write what the second run cost.

    Args:
        stage: of `STAGES`.
        inputs: of `make_inputs`, with a folder of `cut` for either number of studies.
        studies: how many.
        found: takes start and cost in CPU seconds, children included, and both peaks of memory in MB.
    """
    with (
        tempfile.TemporaryDirectory(dir=found.parent) as out,
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
    ):
        for name in ("few", "own"):
            (Path(out) / name).mkdir()
        STAGES[stage](inputs, inputs / str(FEW), Path(out) / "few", FEW)
        start, start_peak = _spent(), _peak()
        STAGES[stage](inputs, inputs / str(studies), Path(out) / "own", studies)
        done = {"start": start, "cost": _spent() - start, "start_peak": start_peak, "peak": _peak()}
    found.write_text(json.dumps(done))


def _spent() -> float:
    """CPU seconds of this process and of those it has waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _peak() -> float:
    """Peak resident memory of this process in MB; of a child, such as Java, it is not counted."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

"""A corpus written shard by shard: killed and resumed = unbroken; several processes = one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from radrl.data.admission import CORPUS
from radrl.data.ingest import ingest
from radrl.data.quarantine import Refusal, TooManyQuarantined
from radrl.data.shards import shards
from radrl.data.study import Film, Record

OPTIONS: dict[str, Any] = {
    "seed": 0,
    "target": "report",
    "image_size": 16,
    "split_shares": {"train": 0.5, "test": 0.5},
    "max_quarantined_share": 1.0,
}

Source = list[Record | Refusal]


@pytest.fixture
def source(noise_film: Callable[..., Film]) -> Source:
    """40 films of 20 studies; a sixth are refused for one reason or another, one by the source itself."""
    records: Source = []
    for number in range(40):
        film = noise_film(0) if number in (9, 31) else noise_film(number)
        report = "" if number % 12 == 5 else f"Report of study {number // 2}."
        record = Record(f"row {number}", f"s{number // 2}", f"p{number // 6}", film, report=report)
        records.append(record)
    records[22] = Refusal("row 22", "malformed_row", "a quote", "s11")
    return records


def run(source: Source, workspace: Path, **options: Any) -> tuple[pa.Table, list[dict[str, Any]], list[int]]:
    passing = ingest(iter(source), **{**OPTIONS, **options})
    tables = [pa.ipc.open_file(path).read_all() for path in shards(passing, rows=7, workspace=workspace)]
    assert not workspace.exists()
    counts = [passing.read, passing.kept, passing.samples, passing.studies_kept, passing.studies_quarantined]
    return pa.concat_tables(tables), passing.quarantine.table().to_pylist(), counts


def killed(source: Source, workspace: Path, after: int) -> None:
    """Stop a pass after so many shards were handed on."""
    files = shards(ingest(iter(source), **OPTIONS), rows=7, workspace=workspace)
    for _ in range(after):
        next(files)
    (workspace / "part-00099.partial").touch()  # what was being written


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_shards_hold_the_rows_of_the_pass(source: Source, workspace: Path) -> None:
    table, quarantine, _ = run(source, workspace)
    passing = ingest(iter(source), **OPTIONS)
    assert table.schema == CORPUS
    assert table.to_pylist() == list(passing)
    assert quarantine == passing.quarantine.table().to_pylist()


@pytest.mark.parametrize("sample", ["image", "study"])
def test_a_shard_ends_with_a_study(source: Source, workspace: Path, sample: str) -> None:
    passing = ingest(iter(source), **OPTIONS, sample=sample)
    tables = [pa.ipc.open_file(path).read_all() for path in shards(passing, rows=3, workspace=workspace)]
    assert all(table.num_rows >= 3 for table in tables[:-1])
    studies = [{*table.column("study_id").to_pylist()} for table in tables]
    assert sum(map(len, studies)) == len(set().union(*studies))


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_killed_pass_goes_on_to_what_an_unbroken_one_gives(
    source: Source, workspace: Path, tmp_path: Path, after: int
) -> None:
    killed(source, workspace, after)
    finished = {
        path.name: path.stat().st_mtime_ns for path in workspace.glob("part-*") if path.suffix != ".partial"
    }
    assert len(finished) == 2 * after
    resumed = run(source, workspace)
    (tmp_path / "other").mkdir()
    assert resumed == run(source, tmp_path / "other")


def test_finished_films_are_not_decoded_again(
    source: Source, workspace: Path, noise_film: Callable[..., Film]
) -> None:
    drawn: list[int] = []

    def drawing(number: int) -> Callable[[], Film]:
        return lambda: (drawn.append(number), noise_film(number))[1]

    lazy: Source = [Record(f"row {n}", f"s{n}", "", drawing(n), report="Clear.") for n in range(20)]
    killed(lazy, workspace, 2)
    drawn.clear()
    run(lazy, workspace)
    assert drawn == list(range(14, 20))


def test_a_source_that_changed_is_read_again_from_there(
    source: Source, workspace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    killed(source, workspace, 3)
    changed = list(source)
    changed[10] = Record("row 10", "s5", "p1", source[10].image, report="Quite another one.")  # type: ignore[union-attr]
    changed[11] = Record("row 11", "s5", "p1", source[11].image, report="Quite another one.")  # type: ignore[union-attr]
    resumed = run(changed, workspace)
    assert "going on from shard 1" in caplog.text
    (tmp_path / "other").mkdir()
    assert resumed == run(changed, tmp_path / "other")


def test_a_shard_without_its_notes_is_made_again(source: Source, workspace: Path, tmp_path: Path) -> None:
    killed(source, workspace, 3)
    (workspace / "part-00002.notes.parquet").unlink()
    (tmp_path / "other").mkdir()
    assert run(source, workspace) == run(source, tmp_path / "other")


def test_two_processes_give_the_bytes_of_one(
    source: Source, workspace: Path, tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    folders = {workers: tmp_path / str(workers) for workers in (1, 2)}
    for workers, folder in folders.items():
        folder.mkdir()
        (workspace / str(workers)).mkdir()
        passing = ingest(iter(source), **OPTIONS, workers=workers)
        for path in shards(passing, rows=7, workspace=workspace / str(workers)):
            path.rename(folder / path.name)
    assert contents(folders[1]) == contents(folders[2]) != {}


def test_too_many_refused_are_listed_and_what_is_done_is_kept(source: Source, workspace: Path) -> None:
    with pytest.raises(TooManyQuarantined, match=r"(?s)empty_report: 3.*quarantine\.csv lists them all"):
        list(
            shards(
                ingest(iter(source), **OPTIONS | {"max_quarantined_share": 0.01}), rows=7, workspace=workspace
            )
        )
    listed = (workspace / "quarantine.csv").read_text().splitlines()
    table, quarantine, _ = run(source, workspace)  # the limit was raised
    assert len(listed) == len(quarantine) + 1
    assert table.num_rows + len(quarantine) == 40

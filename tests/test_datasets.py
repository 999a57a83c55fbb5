"""Dataset types: whole artifacts or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from kedro.io import AbstractDataset, DatasetError

from radrl.datasets import Folder, HtmlPage, ParquetShards, Workspace, replacing
from radrl.labelers import build
from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE


def table(*numbers: int) -> pa.Table:
    return pa.table({"number": list(numbers)})


def breaking() -> Iterator[pa.Table]:
    yield table(7)
    raise RuntimeError("power cut")


def write_then_break(folder: Path) -> None:
    (folder / "weights").write_text("half")
    raise RuntimeError("power cut")


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_shards_come_back_in_order(tmp_path: Path) -> None:
    shards = ParquetShards(str(tmp_path / "deep" / "corpus"))
    shards.save(table(3, 1) for _ in range(2))
    assert visible(tmp_path / "deep" / "corpus") == ["part-00000.parquet", "part-00001.parquet"]
    assert shards.load().to_table().column("number").to_pylist() == [3, 1, 3, 1]


def test_fewer_shards_leave_none_of_the_old_ones(tmp_path: Path) -> None:
    shards = ParquetShards(str(tmp_path / "corpus"))
    shards.save([table(1), table(2), table(3)])
    shards.save([table(4)])
    assert shards.load().to_table().column("number").to_pylist() == [4]


def test_shards_that_break_midway_leave_the_old_ones(tmp_path: Path) -> None:
    shards = ParquetShards(str(tmp_path / "corpus"))
    shards.save([table(1), table(2)])
    with pytest.raises(DatasetError, match="power cut"):
        shards.save(breaking())
    assert visible(tmp_path) == ["corpus"]
    assert shards.load().to_table().column("number").to_pylist() == [1, 2]


def test_shards_that_break_the_first_time_leave_nothing_under_the_name(tmp_path: Path) -> None:
    shards = ParquetShards(str(tmp_path / "corpus"))
    with pytest.raises(DatasetError, match="power cut"):
        shards.save(breaking())
    assert visible(tmp_path) == []
    assert not shards.exists()


def test_folder_that_breaks_midway_leaves_the_old_one_and_no_trace_in_the_next(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "policy"))
    folder.save(lambda target: (target / "config").write_text("old"))
    with pytest.raises(DatasetError, match="power cut"):
        folder.save(write_then_break)
    assert {path.name: path.read_text() for path in folder.load().iterdir()} == {"config": "old"}
    folder.save(lambda target: (target / "config").write_text("new"))
    assert {path.name: path.read_text() for path in folder.load().iterdir()} == {"config": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


def test_folder_is_written_beside_its_place(tmp_path: Path) -> None:
    with replacing(tmp_path / "policy") as folder:
        assert folder.parent == tmp_path
        assert not (tmp_path / "policy").exists()
    assert (tmp_path / "policy").is_dir()


def test_page_that_cannot_be_encoded_leaves_the_old_one(tmp_path: Path) -> None:
    page = HtmlPage(str(tmp_path / "deep" / "page.html"))
    page.save("<p>β = 0.04</p>")
    with pytest.raises(DatasetError, match="surrogates not allowed"):
        page.save("half a page \ud800")
    assert page.load() == "<p>β = 0.04</p>"
    assert visible(tmp_path / "deep") == ["page.html"]


def test_workspace_is_made_when_asked_for_and_takes_no_save(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path / "deep" / ".work"))
    assert workspace.exists()
    (workspace.load() / "checkpoint").write_text("1")
    assert (workspace.load() / "checkpoint").read_text() == "1"
    with pytest.raises(DatasetError, match="is a workspace"):
        workspace.save("anything")


@pytest.mark.parametrize("kind", [ParquetShards, Folder, HtmlPage])
def test_missing_artifact_says_where_and_what_to_run(
    tmp_path: Path, kind: type[AbstractDataset[object, object]]
) -> None:
    dataset = kind(filepath=str(tmp_path / "gone"))  # type: ignore[call-arg]
    assert not dataset.exists()
    with pytest.raises(DatasetError, match=r"gone is not there: run the stage that writes it"):
        dataset.load()


def test_a_folder_that_is_not_required_is_its_path_where_nothing_lies(tmp_path: Path) -> None:
    assert Folder(str(tmp_path / "gone"), required=False).load() == tmp_path / "gone"


def test_the_rules_label_where_the_stage_labeler_has_not_run(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    entry = yaml.safe_load((root / "conf/base/catalog.yml").read_text(encoding="utf-8"))["labeler_models"]
    entry["filepath"] = str(tmp_path / "labeler")
    models = AbstractDataset.from_config("labeler_models", entry).load()
    settings = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))["labeler"]
    report = "Left pleural effusion. No pneumothorax."
    read = build(settings, models).label([report])[0]
    assert [read[OBSERVATIONS.index(name)] for name in ("Pleural Effusion", "Pneumothorax")] == [
        POSITIVE,
        NEGATIVE,
    ]

"""What the stages that select left, as the comparison is handed it."""

from __future__ import annotations

from pathlib import Path

from kedro.io import DataCatalog
from kedro_datasets.json import JSONDataset

from radrl.wiring.selected import SELECTED, SelectedHooks


def test_what_is_there_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    names = ("ddsampling_summary", "selection_summary")
    catalog = DataCatalog({name: JSONDataset(filepath=str(tmp_path / name)) for name in names})
    SelectedHooks().after_catalog_created(catalog)
    read = catalog[SELECTED].load()
    assert read(*names) == {}
    catalog["selection_summary"].save({"full": 1})
    assert read(*names) == {"selection_summary": {"full": 1}}
    assert read("ddsampling_summary") == {}

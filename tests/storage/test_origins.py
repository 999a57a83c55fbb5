"""Notes of where stages ran."""

from __future__ import annotations

from pathlib import Path

from radrl.storage import origins
from radrl.storage.origins import Origin


def test_a_note_is_read_as_it_was_and_the_last_one_counts(tmp_path: Path) -> None:
    folder = tmp_path / "origins"
    assert origins.read(folder) == {}
    last = Origin("abc+", "a machine", {"torch": "2.9"}, 1.5)
    origins.note(folder, "train@grpo", Origin("old", "a machine"))
    origins.note(folder, "train@grpo", last)
    origins.note(folder, "label", Origin("abc", "a machine"))
    assert origins.read(folder) == {"label": Origin("abc", "a machine"), "train@grpo": last}
    assert not [file for file in folder.iterdir() if file.suffix != ".json"]

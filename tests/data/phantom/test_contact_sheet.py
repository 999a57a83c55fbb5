from __future__ import annotations

from pathlib import Path

from PIL import Image

from radrl.data.phantom.contact_sheet import contact_sheet, main


def test_the_command_writes_the_sheet_of_its_seed(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    main([str(out), "--seed", "3"])
    with Image.open(out) as written:
        assert written.tobytes() == contact_sheet(3).tobytes()
        assert written.size[0] > 4 * 2 * 112

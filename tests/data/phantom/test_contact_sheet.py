from __future__ import annotations

from pathlib import Path

import pytest
from phantom_contact_sheet import contact_sheet, main, pool_sheet
from PIL import Image


def test_the_command_writes_the_sheet_of_its_seed(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    main([str(out), "--seed", "3"])
    with Image.open(out) as written:
        assert written.tobytes() == contact_sheet(3).tobytes()
        assert written.size[0] > 4 * 2 * 112


def test_the_sheet_of_a_pool_has_near_copies_and_normal_films(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "pool.png"
    main([str(out), "--pool", str(root / "conf/recipes/phantom-credit.yaml")])
    with Image.open(out) as written:
        assert written.size[0] > 8 * 112


def test_a_pool_without_near_copies_has_no_sheet() -> None:
    with pytest.raises(ValueError, match=r"0 near copies and .* among 100 studies; raise near_copies"):
        pool_sheet(0, {"hedge_share": 0.0})


def test_the_sheet_of_two_hospitals_has_the_films_of_both(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "hospitals.png"
    main([str(out), "--hospitals", str(root / "conf/recipes/study-two-hospitals.yaml")])
    with Image.open(out) as written:
        home, away = (written.crop((0, top, 160, top + 160)) for top in (0, written.size[1] // 2))
    assert home.tobytes() != away.tobytes()
    assert len(home.getcolors(256)) > 50

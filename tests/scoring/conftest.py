"""Packages that cannot be installed beside radrl, in a small likeness of their own."""

import pytest


@pytest.fixture
def fake_package(tmp_path, monkeypatch):
    """Puts a package's files, by path, where a worker imports from."""

    def make(files):
        for name, text in files.items():
            file = tmp_path / "fake" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))

    return make

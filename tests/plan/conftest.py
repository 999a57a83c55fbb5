from pathlib import Path

import pytest

from radrl.plan import shapes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shipped():
    """The shipped policy's shape."""
    return shapes.of_folder(ROOT / "data/06_models/radrl-tiny")


@pytest.fixture(scope="session")
def model(shipped):
    """The shipped policy without numbers."""
    return shapes.model(shipped)


@pytest.fixture(scope="session")
def recipes():
    """The recipes, by name."""
    found = sorted((ROOT / "conf/recipes").glob("*.yaml"))
    return {path.stem: path for path in found if not path.stem.startswith("study-")}

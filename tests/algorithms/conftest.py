import json
import os
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def rl_math() -> Any:
    """Expected values derived apart from this project; present where RADRL_SHARED points at them."""
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "rl_math.json"
    if "RADRL_SHARED" not in os.environ or not path.is_file():
        pytest.skip("no rl_math.json under RADRL_SHARED")
    return json.loads(path.read_text())

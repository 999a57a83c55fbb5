"""Every training film."""

from __future__ import annotations

import pandas as pd

from radrl.selections.full import full


def test_takes_every_film_in_its_order() -> None:
    films = pd.DataFrame({"sample_id": ["b", "a", "c"], "patient_id": ["q", "p", "p"]}, index=[7, 3, 5])
    assert full(films).tolist() == ["b", "a", "c"]

import json

import pytest

from radrl.rexrank.form import FormError
from radrl.rexrank.references import read, rows

FULL = {"section_findings": "Clear lungs.", "section_impression": "Normal.", "model_prediction": "Clear."}


@pytest.fixture
def written(tmp_path):
    def write(found):
        (tmp_path / "out.json").write_text(json.dumps(found))
        return tmp_path / "out.json"

    return write


def test_references_are_put_together_as_rexranks_script_does(written):
    nan = float("nan")
    pairs = read(
        written({"a": FULL, "b": FULL | {"section_findings": nan}, "c": FULL | {"section_impression": None}})
    )
    assert [pair.reference for pair in pairs] == [
        "Findings: Clear lungs. Impression: Normal.",
        "Findings: None Impression: Normal.",
        "Findings: Clear lungs. Impression: None",
    ]
    assert [pair.hypothesis for pair in pairs] == ["Clear."] * 3


def test_patients_are_a_column_where_all_are_known(written):
    known = {"a": FULL | {"subject_id": 10046166}, "b": FULL | {"subject_id": 10268877}}
    assert [row["patient"] for row in rows(read(written(known)))] == ["10046166", "10268877"]
    assert "patient" not in next(rows(read(written(known | {"c": FULL}))))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"section_findings": "Clear."}, "no text under 'model_prediction'"),
        ({"model_prediction": "Clear."}, "neither 'section_findings' nor 'section_impression'"),
        (FULL | {"section_findings": 7}, "a section is 7, not text"),
        ("Clear.", "its entry is no object"),
    ],
)
def test_what_cannot_be_scored_is_named_by_its_key(written, entry, said):
    with pytest.raises(FormError, match=f"study 'b': {said}"):
        read(written({"a": FULL, "b": entry}))

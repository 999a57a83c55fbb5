import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.rexrank.form import FormError
from radrl.rexrank.released import Report, chosen_columns, headed, join, references, released, study_key


@pytest.fixture
def put(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return path

    return write


def report(study, text="Clear."):
    return Report(study, "row 1", text, text)


TABLE = "findings,impression,study_id\nHeart large.,Normal.,50000001\n/,Edema.,50000002\n"


def texts(found):
    return {key: one.text for key, one in found.items()}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("findings", ["Heart large.", ""]),
        ("impression", ["Normal.", "Edema."]),
        ("findings_impression", ["Heart large.\nNormal.", "Edema."]),
    ],
)
def test_a_table_as_cxrmate_2_is_released(put, target, said):
    found = released(put("theirs.csv", TABLE), target, {})
    assert texts(found) == dict(zip(["s50000001", "s50000002"], said, strict=True))


@pytest.mark.parametrize(
    ("prediction", "findings", "impression", "whole"),
    [
        ("Findings:Clear.Impression:Normal.", "Clear.", "Normal.", False),
        ("FINDINGS: Clear.\nIMPRESSION: None.", "Clear.", "", False),
        ("Findings: None Impression: Edema.", "", "Edema.", False),
        ("Findings: Clear.", "Clear.", "", False),
        ("Clear. Impression: Normal.", "Clear.", "Normal.", False),
        ("Exam: chest. Findings: Clear.", "Clear.", "", False),
        ("The lungs are clear.", "The lungs are clear.", "The lungs are clear.", True),
        ("", "", "", False),
    ],
)
def test_rexranks_predictions_are_parted_at_their_headings(put, prediction, findings, impression, whole):
    path = put("out.json", {"CXR1_IM-0001": {"model_prediction": prediction}})
    for target, text in (("findings", findings), ("impression", impression)):
        (one,) = released(path, target, {}).values()
        assert (one.text, one.whole) == (text, whole)
    (one,) = released(path, "report", {}).values()
    assert one.text == prediction


@given(st.text(st.characters(exclude_characters=":")), st.text(st.characters(exclude_characters=":")))
def test_sections_come_back_from_behind_their_headings(findings, impression):
    """Whatever stands in them, but for what says that there is none."""
    parted = headed(f"Findings: {findings} Impression: {impression}", "findings_impression")
    kept = [one.strip() for one in (findings, impression) if one.strip() not in ("", "/", "None", "None.")]
    assert parted == "\n".join(one.replace("\r\n", "\n") for one in kept)


def test_rexranks_references_and_their_patients(put):
    nan = float("nan")
    entries = {
        "50000001": {"section_findings": "Clear.", "section_impression": nan, "subject_id": 10000032},
        "50000002": {"section_findings": nan, "section_impression": "Edema.", "subject_id": 10000033},
    }
    found = references(put("in.json", entries), "findings", {})
    assert texts(found) == {"s50000001": "Clear.", "s50000002": ""}
    assert [one.patient for one in found.values()] == ["10000032", "10000033"]


def test_a_table_with_other_columns(put):
    path = put("ours.csv", "accession,text,subject\n7,Clear.,a\n8,Findings: Edema. Impression: Heart.,b\n")
    columns = chosen_columns(["study=accession", "report=text", "patient=subject"])
    found = references(path, "findings", columns)
    assert texts(found) == {"7": "Clear.", "8": "Edema."}
    assert [one.patient for one in found.values()] == ["a", "b"]


def test_a_report_column_that_is_named_goes_before_sections(put):
    path = put("theirs.csv", "study_id,findings,generated\n7,The old one.,The new one.\n")
    assert texts(released(path, "findings", {"report": "generated"})) == {"7": "The new one."}
    assert texts(released(path, "findings", {})) == {"7": "The old one."}


TWICE = TABLE + "Again.,,s50000001\n"
BOTH = '{"50000001": {"model_prediction": ""}, "s50000001": {"model_prediction": ""}}'


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", TWICE, "row 3: study 's50000001' (there as '50000001') stands in row 1 already"),
        ("t.csv", "id,findings\n7,Clear.\n", "row 1 (line 2): no column 'study_id' (study); there are id"),
        (
            "t.csv",
            "study_id,text\n7,Clear.\n",
            "no column 'findings', nor 'report'; there are study_id, text",
        ),
        ("t.csv", "study_id,findings\n7,Clear.\n,Edema.\n", "row 2 (line 3): 'study_id' is empty"),
        ("t.csv", "study_id,findings\n7,Clear.,x\n", "row 1 (line 2): 3 fields where the header has 2"),
        ("t.csv", "study_id,findings\n", "t.csv has no report"),
        ("t.jsonl", '{"study_id": 7, "findings": 3}\n', "row 1: 'findings' is a number, not text"),
        ("t.jsonl", '{"study_id": 7.0, "findings": "a"}\n', "7.0 is a number, not a name or a whole number"),
        ("t.txt", "x", "t.txt: give ReXrank's .json, or a table"),
        ("t.json", "[]", "holds an empty list"),
        ("t.json", '{"a": 3}', "study 'a': its entry is a number, not an object"),
        ("t.json", '{"a": {}}', "study 'a': no text under 'model_prediction'"),
        ("t.json", BOTH, "study 's50000001' (there as '50000001') stands in study '50000001' already"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_row(put, name, text, said):
    with pytest.raises(FormError) as error:
        released(put(name, text), "findings", {})
    assert name in str(error.value)
    assert said in str(error.value)


def test_both_sections_are_needed_where_both_are_compared(put):
    with pytest.raises(FormError, match="no column 'impression', nor 'report'"):
        released(put("t.csv", "study_id,findings\n7,Clear.\n"), "findings_impression", {})


def test_a_named_column_that_is_not_there(put):
    with pytest.raises(FormError, match=r"t\.csv row 1 \(line 2\): no column 'sex' \(patient\); there are"):
        released(put("t.csv", TABLE), "findings", {"patient": "sex"})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["report"], "'report' is no KEY=COLUMN"),
        (["reports=x"], "'reports' is no key; did you mean 'report'"),
        (["report=x", "report=y"], "report is named twice, 'x' and 'y'"),
    ],
)
def test_columns_of_another_form(columns, said):
    with pytest.raises(FormError, match=said):
        chosen_columns(columns)


def test_json_has_no_columns(put):
    with pytest.raises(FormError, match="has no column 'x'"):
        released(put("t.json", {"a": {"model_prediction": ""}}), "findings", {"report": "x"})


def test_what_meets_and_what_does_not():
    found = {study_key(name): report(name) for name in ("50000001", "50000002", "50000009")}
    beside = [report("s50000002"), report("s50000001"), report("s50000002"), report("s50000003")]
    joined = join(found, [*beside, report("s50000009", "")])
    assert [(one.study, other.study) for one, other in joined.pairs] == [
        ("s50000002", "50000002"), ("s50000001", "50000001"), ("s50000002", "50000002"),
    ]  # fmt: skip
    assert [one.study for one in joined.unreported] == ["s50000003"]
    assert [one.study for one in joined.without] == ["s50000009"]
    assert joined.elsewhere == []


def test_nothing_that_meets_is_refused():
    said = r"no study has both .* \(of '1' and others\) .* \(of '2' and others\)"
    with pytest.raises(FormError, match=said):
        join({"1": report("1")}, [report("2")])


@given(st.text("0123456789", min_size=8, max_size=8), st.text("0123456789", min_size=8, max_size=8))
def test_studies_of_mimic_meet_whoever_spells_them(study, patient):
    spellings = {study, f"s{study}", f"p{patient}/s{study}", f"p{patient[:2]}/p{patient}/s{study}"}
    assert {study_key(one) for one in spellings} == {f"s{study}"}

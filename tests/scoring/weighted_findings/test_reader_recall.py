"""The measure of the reader against an index: terms, groups, counts, and the page that holds the figures."""

from __future__ import annotations

import sys
import tarfile

import pytest
import reader_recall as recall

from radrl.scoring.weighted_findings.reader import findings_of

XML = """<eCitation><uId id="{id}"/><MedlineCitation><Article><Abstract>
<AbstractText Label="INDICATION">Pneumonia?</AbstractText>
<AbstractText Label="FINDINGS">{findings}</AbstractText>
<AbstractText Label="IMPRESSION"/></Abstract></Article></MedlineCitation>
<MeSH>{terms}</MeSH></eCitation>"""


def write(folder, *rows):
    for number, (findings, *terms) in enumerate(rows):
        majors = "".join(f"<major>{term}</major>" for term in terms)
        text = XML.format(id=f"CXR{number}", findings=findings, terms=majors)
        (folder / f"{number}.xml").write_text(text, encoding="utf-8")


def test_every_concept_of_a_group_is_the_readers_own():
    from radrl.scoring.weighted_findings import vocabulary

    known = vocabulary.CONCEPTS.keys() | {name for _, _, name in vocabulary.REFINED}
    assert {name for _, _, _, names in recall.HEADS for name in names.split()} <= known


@pytest.mark.parametrize(
    ("term", "group"),
    [
        ("Pleural Effusion/left/small", "pleural_effusion"),
        ("Lung/hilum/enlarged", "hilar_enlargement"),
        ("Lung/hypoinflation/mild", "low_lung_volumes"),
        ("Calcinosis/lung/hilum/lymph nodes/left", "calcified_lymph_node"),
        ("Calcinosis/aorta", "aortic_calcification"),
        ("Opacity/lung/base/left/round", "nodule"),
        ("Deformity/thoracic vertebrae/mild", "vertebral_fracture"),
        ("normal", None),
    ],
)
def test_the_group_of_a_term(term, group):
    assert recall.group_of(term) == group


def test_what_the_index_says():
    said = recall.indexed(
        ["Pleural Effusion/left/small", "Pleural Effusion/right/large", "Cicatrix/lung/lingula", "normal"]
    )
    assert said == {
        "pleural_effusion": recall.Term(frozenset({"left", "right"}), frozenset(), 3),
        "scarring": recall.Term(frozenset({"left"}), frozenset({"lingula"}), None),
    }


def test_a_nodule_indexed_as_calcified_at_its_place_is_a_granuloma():
    terms = ["Nodule/lung/base/left", "Calcinosis/lung/base/left"]
    assert recall.indexed(terms).keys() == {"granuloma"}
    assert recall.indexed(terms[:1]).keys() == {"nodule"}


def test_what_the_reader_finds():
    said = recall.read(findings_of("Mild scarring in the right mid lung. Possible pneumonia. No effusion."))
    assert said == {
        "scarring": recall.Term(frozenset({"right"}), frozenset({"middle_lobe"}), 1),
        "pneumonia": recall.Term(frozenset(), frozenset(), None, hedged=True),
    }


def test_counts_of_reports(tmp_path):
    write(
        tmp_path,
        ("Small left effusion.", "Pleural Effusion/right/small"),  # found, the other side
        ("Left effusion.", "normal"),  # false
        ("Possible effusion.", "normal"),  # only hedged: false in the strict count alone
        ("Clear lungs.", "Pleural Effusion"),  # missed
        ("Large effusion.", "No Indexing"),  # left out
    )
    rows, read = recall.measure(recall.reports(tmp_path))
    row = rows["pleural_effusion"]
    assert read == 4
    assert (row.finding.true, row.finding.false, row.finding.missed) == (1, 1, 1)
    assert (row.strict.true, row.strict.false, row.strict.missed) == (1, 2, 1)
    assert (row.side.true, row.side.false, row.side.missed) == (0, 1, 1)
    assert (row.degree.true, row.degree.false, row.degree.missed) == (1, 0, 0)
    assert row.finding.f1 == row.finding.precision == row.finding.recall == 0.5


def test_an_archive_is_read_as_its_files_are(tmp_path):
    write(tmp_path, ("Effusion.", "Pleural Effusion"))
    plain = list(recall.reports(tmp_path))
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / recall.ARCHIVE, "w:gz") as archive:
        archive.add(tmp_path / "0.xml", "0.xml")
    assert list(recall.reports(packed)) == plain
    assert "Pneumonia" not in plain[0].text


def test_a_folder_without_reports_is_named(tmp_path):
    with pytest.raises(SystemExit, match=str(tmp_path)):
        list(recall.reports(tmp_path))


def test_the_halves_are_cut_by_the_id():
    halves = [recall.aside(f"CXR{number}") for number in range(400)]
    assert 150 < sum(halves) < 250


def test_the_page_is_written_between_its_marks(tmp_path, monkeypatch, capsys):
    write(tmp_path, *[("Effusion.", "Pleural Effusion")] * 60)
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- aside: written by tools/reader_recall.py -->\nold\n<!-- end of aside -->\nafter\n",
        encoding="utf-8",
    )
    asked = ["reader_recall.py", "--openi", str(tmp_path), "--half", "aside", "--least", "5"]
    monkeypatch.setattr(sys, "argv", [*asked, "--write", str(page)])
    assert recall.main() == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| pleural_effusion | 2" in text or "| pleural_effusion | 3" in text
    assert "none" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*asked[:4], "development", *asked[5:], "--write", str(page)])
    with pytest.raises(SystemExit, match="lacks the marks"):
        recall.main()

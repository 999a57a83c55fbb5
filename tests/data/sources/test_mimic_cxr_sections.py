from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from radrl.data.sources.mimic_cxr.reports import Sections, read_sections

USUAL = dedent("""\
                                     FINAL REPORT
     EXAMINATION:  CHEST (PA AND LAT)
     
     INDICATION:  ___F with cough  // pneumonia?
     
     TECHNIQUE:  Chest PA and lateral
     
     COMPARISON:  ___
     
     FINDINGS: 
     
     The lungs are clear of
     consolidation.
     
     The heart is normal.
     
     IMPRESSION: 
     
     No acute cardiopulmonary process.
    """)  # noqa: W291, W293


def read(text, **options):
    sections = read_sections(dedent(text), **options)
    return sections.findings, sections.impression


def test_usual_report():
    assert read_sections(USUAL) == Sections(
        findings="The lungs are clear of consolidation.\nThe heart is normal.",
        impression="No acute cardiopulmonary process.",
        indication="___F with cough // pneumonia?",
    )


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_newlines_of_other_systems(newline):
    assert read_sections(USUAL.replace("\n", newline)) == read_sections(USUAL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FINDINGS: Clear.", ("Clear.", None)),
        ("IMPRESSION: Normal.", (None, "Normal.")),
        ("IMPRESSION: Normal.\n\nFINDINGS: Clear.", ("Clear.", "Normal.")),
        ("Findings: Clear.\nImpression: Normal.", ("Clear.", "Normal.")),
        ("FINDINGS\nClear.\nIMPRESSION\nNormal.", ("Clear.", "Normal.")),
        ("FINDINGS:Clear.\nIMPRESSION:Normal.", ("Clear.", "Normal.")),
        ("IMPRESSION. Normal.", (None, "Normal.")),
        ("FINDINGS: Clear. IMPRESSION: Normal.", ("Clear.", "Normal.")),
        ("FINDINGS: Clear.\nCONCLUSION: Normal.", ("Clear.", "Normal.")),
        ("FINDINGS AND IMPRESSION: Clear.", ("Clear.", None)),
        ("FINDINGS/IMPRESSION: Clear.", ("Clear.", None)),
        ("FINDINS: Clear.\nIMPRESSOIN: Normal.", ("Clear.", "Normal.")),
        ("NDICATION: Cough.\nIMPRESSION: Normal.", (None, "Normal.")),
        ("CLINICAL IMPRESSION: Sepsis.\nFINDINGS: Clear.", ("Clear.", None)),
    ],
)
def test_headers_in_other_words_and_places(text, expected):
    assert read(text) == expected


def test_no_text_no_sections():
    assert read("") == read(" \n ___ \n") == (None, None)


@pytest.mark.parametrize("words", ["As above.", "AS ABOVE", "See above.", "As described in the findings."])
def test_a_section_that_only_points_is_absent(words):
    assert read(f"FINDINGS: Clear.\n\nIMPRESSION: {words}") == ("Clear.", None)


def test_a_pointer_with_news_is_kept():
    assert read("IMPRESSION: As above, with new effusion.") == (None, "As above, with new effusion.")


def test_a_section_of_blanks_is_absent():
    assert read("FINDINGS: ___\n\nIMPRESSION: Normal.") == (None, "Normal.")


def test_deidentified_blanks_stay_in_the_text():
    assert read("FINDINGS: Compared to ___, clear.") == ("Compared to ___, clear.", None)


def test_several_sections_are_joined_and_the_same_text_stands_once():
    text = "FINDINGS: One.\nIMPRESSION: A.\nFINDINGS: Two.\nIMPRESSION: A.\nIMPRESSION: B."
    assert read(text) == ("One.\nTwo.", "A.\nB.")


def test_an_empty_section_beside_a_full_one():
    assert read("FINDINGS:\n\nFINDINGS: Clear.") == ("Clear.", None)


def test_headers_of_organs_stay_inside_the_findings():
    text = "FINDINGS:\nLUNGS: Clear.\nHEART: Normal.\nCHEST: Old.\n\nIMPRESSION: Normal."
    assert read(text) == ("LUNGS: Clear.\nHEART: Normal.\nCHEST: Old.", "Normal.")


def test_headers_of_organs_without_findings_header():
    text = "INDICATION: Cough.\nLUNGS: Clear.\nHEART: Normal."
    assert read(text) == ("LUNGS: Clear.\nHEART: Normal.", None)


def test_what_follows_the_impression_is_none_of_it():
    text = """\
        IMPRESSION: Normal.

        RECOMMENDATION(S): Follow up.

        NOTIFICATION: Dr. ___ was called.

        He will see the patient."""
    assert read(text) == (None, "Normal.")


def test_wet_read_before_the_final_report_is_left_out():
    text = """\
         WET READ: ___ ___ 3:42 PM
           Large pneumothorax.
         FINDINGS: Preliminary.
         ______________________________________________________________________________
                                         FINAL REPORT
         IMPRESSION: No pneumothorax."""
    assert read(text) == (None, "No pneumothorax.")


def test_wet_read_in_the_report_is_left_out():
    assert read("FINDINGS: Clear.\nWET READ: Opacity.\nIMPRESSION: Normal.") == ("Clear.", "Normal.")


def test_addenda_do_not_speak_for_the_report():
    text = """\
                                        FINAL ADDENDUM
         IMPRESSION: Called at noon.
         ______________________________________________________________________________
                                         FINAL REPORT
         FINDINGS: Clear.

         IMPRESSION: Normal.

         ADDENDUM: Wrong side."""
    assert read(text) == ("Clear.", "Normal.")


def test_an_addendum_speaks_where_nothing_else_does():
    text = " FINAL ADDENDUM\n FINDINGS: Clear.\n FINAL REPORT\n INDICATION: Cough.\n"
    assert read(text) == ("Clear.", None)


def test_page_breaks_are_taken_out():
    text = """\
                                         FINAL REPORT
         FINDINGS: The lungs
                                                                             (Over)
                                         FINAL REPORT
         (Cont)
         are clear.

         IMPRESSION: Normal."""
    assert read(text) == ("The lungs\nare clear.", "Normal.")


def test_paragraphs_without_header_are_findings():
    text = """\
         FINAL REPORT
         CHEST RADIOGRAPH PERFORMED ON ___

         HISTORY: Cough.

         COMPARISON: None.

         The lungs are clear.

         The heart is normal.

         IMPRESSION: Normal.

         Discussed with Dr. ___."""
    assert read(text) == ("The lungs are clear.\nThe heart is normal.", "Normal.\nDiscussed with Dr. ___.")
    assert read(text, unheaded_findings=False) == (None, "Normal.\nDiscussed with Dr. ___.")


def test_last_paragraph_is_findings_where_no_header_stands():
    assert read("REASON FOR EXAM: Cough.\n \nAs compared to ___, no change.") == (
        "As compared to ___, no change.",
        None,
    )


def test_context_whose_text_stands_below_its_header_is_no_findings():
    assert read("INDICATION:\n\nCough.\n\nFINDINGS: Clear.") == ("Clear.", None)
    assert read("INDICATION:\n\nCough.\n\nIMPRESSION: Normal.") == (None, "Normal.")


def test_a_film_as_header_stands_for_findings():
    text = "CHEST, PA AND LATERAL: The lungs are clear.\n\nCONCLUSION: Normal."
    assert read(text) == ("The lungs are clear.", "Normal.")
    assert read(text, unheaded_findings=False) == ("The lungs are clear.", "Normal.")


def test_a_film_as_title_is_no_findings():
    text = "PORTABLE CHEST, 5:12 A.M. ON ___:\n\nHISTORY: Cough.\n\nIMPRESSION: Normal."
    assert read(text) == (None, "Normal.")


def test_a_film_as_header_gives_way_to_findings():
    assert read("CHEST, TWO VIEWS: Erect.\n\nFINDINGS: Clear.") == ("Clear.", None)


def test_a_sentence_with_a_colon_is_no_header():
    text = "FINDINGS: Two lines:\nPicc: in place.\nImpression of the diaphragm: none."
    assert read(text) == ("Two lines: Picc: in place. Impression of the diaphragm: none.", None)


def test_unknown_headers_outside_of_a_section_are_left_out():
    assert read("ACCESSION NUMBER: abc\nIMPRESSION: Normal.") == (None, "Normal.")
    assert read("HISTORY: Cough.\nPHYSICIAN: Dr. ___\nIMPRESSION: Normal.") == (None, "Normal.")


pieces = st.sampled_from(
    [
        *("FINDINGS:", "IMPRESSION:", "FINAL REPORT", "FINAL ADDENDUM", "WET READ:", "CHEST, PA:", "LUNGS:"),
        *("\n", "\n\n", " ", "___", "(Over)", "(Cont)", "As above.", "Clear.", "INDICATION:", "a: b", "."),
    ]
)
texts = st.one_of(st.text(max_size=200), st.lists(pieces, max_size=30).map("".join))


@example("¼", True)  # a fraction is a word to regular expressions and no letter
@given(texts, st.booleans())
def test_sections_hold_nothing_but_pieces_of_the_text(text, unheaded):
    sections = read_sections(text, unheaded_findings=unheaded)
    for section in (sections.findings, sections.impression):
        assert section is None or any(letter.isalpha() for letter in section)
        for word in (section or "").split():
            assert word in text


@given(texts)
def test_unheaded_text_never_changes_headed_sections(text):
    with_, without = read_sections(text), read_sections(text, unheaded_findings=False)
    assert with_.impression == without.impression
    assert without.findings is None or with_.findings is not None

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.reports.cleaning import PROTOCOLS, clean, clean_once

REPORT = '1. No pleural effusion/pneumothorax.\n2. Heart: 2.5 cm..  Left-sided PICC (new), "tip" in SVC'
CHANGING = [protocol for protocol in PROTOCOLS if protocol != "none"]

# name in the file of vectors, protocol, max_words
VECTORS = [
    ("r2gen_iu_xray", "r2gen_iu", None),
    ("r2gen_mimic_cxr", "r2gen_mimic", None),
    ("r2gengpt_mambaxray_mimic", "mambaxray", None),
    ("promptmrg_caption_max12", "promptmrg", 12),
]


@pytest.mark.parametrize(("name", "protocol", "max_words"), VECTORS)
def test_published_code_gives_the_same(name, protocol, max_words):
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors/report_cleaning.json"
    if not path.is_file():
        pytest.skip("RADRL_SHARED holds no vectors of cleaned reports")
    for case in json.loads(path.read_text())["cases"]:
        assert clean(case["input"], protocol, max_words) == case[name]


@pytest.mark.parametrize(
    ("protocol", "cleaned"),
    [
        ("none", REPORT),
        # "\n" is no space, so " 2. " is not found, and the sentence goes on
        ("r2gen_iu", "no pleural effusionpneumothorax\n2 . heart 25 cm . left-sided picc new tip in svc ."),
        ("r2gen_mimic", "no pleural effusionpneumothorax . heart 25 cm . left-sided picc new tip in svc ."),
        ("mambaxray", "no pleural effusionpneumothorax . heart : 25 cm . left-sided picc new tip in svc ."),
        ("promptmrg", "no pleural effusionpneumothorax . heart 25 cm . left-sided picc new tip in svc ."),
    ],
)
def test_one_report_by_every_protocol(protocol, cleaned):
    assert clean(REPORT, protocol) == cleaned


@pytest.mark.parametrize("protocol", CHANGING)
@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", " ."),
        ("Lungs clear", "lungs clear ."),
        ("Lungs clear. ", "lungs clear ."),
        ("No effusion/pneumothorax.", "no effusionpneumothorax ."),
        ("Nodule of 2.5 cm.", "nodule of 25 cm ."),
        ("Well-expanded.", "well-expanded ."),
        ("Fracture of T11. Normal heart.", "fracture of t1normal heart ."),  # "1. " is lost everywhere
        ("1. A. 2. B. 5. E. 6. F.", "a . b . e . 6 . f ."),  # items up to five are known
        ("A. ! B.", "a .  b ."),  # the mark goes and its space stays
        ("A. . B.", "a .  . b ."),  # an empty sentence is kept
        ("A , b.", "a  b ."),
    ],
)
def test_oddities_that_all_share(protocol, text, cleaned):
    assert clean(text, protocol) == cleaned


@pytest.mark.parametrize(
    ("text", "protocol", "cleaned"),
    [
        ("At 10:50.", "r2gen_mimic", "at 1050 ."),
        ("At 10:50.", "mambaxray", "at 10 :50 ."),
        ("pH<7, a@b, x=y", "r2gen_mimic", "ph7 ab xy ."),
        ("pH<7, a@b, x=y", "mambaxray", "ph<7 a@b x=y ."),
        ("A\nb", "r2gen_iu", "a\nb ."),
        ("A\nb", "r2gen_mimic", "a b ."),
        ("A  b", "r2gen_iu", "a  b ."),
        ("A  b", "r2gen_mimic", "a b ."),
        ("Seen ___ before", "r2gen_mimic", "seen  before ."),
        # three passes bring 9 stops to 2, one of which parts the sentences and one of which is removed
        ("A" + "." * 9 + " B", "r2gen_iu", "a . b ."),
        ("a" + " " * 65 + "b", "r2gen_mimic", "a  b ."),  # six passes bring 64 spaces to one, not 65
    ],
)
def test_what_tells_the_protocols_apart(text, protocol, cleaned):
    assert clean(text, protocol) == cleaned


@pytest.mark.parametrize(
    ("protocol", "max_words", "cut"),
    [
        ("none", 2, "Heart\nnormal."),
        ("none", 4, "Heart\nnormal.  Lungs clear. "),
        ("r2gen_mimic", 3, "heart normal ."),
        ("r2gen_mimic", 5, "heart normal . lungs clear"),
        ("r2gen_mimic", 6, "heart normal . lungs clear ."),
        ("r2gen_iu", 1, "heart"),
    ],
)
def test_a_full_stop_counts_as_a_word(protocol, max_words, cut):
    assert clean("Heart\nnormal.  Lungs clear. ", protocol, max_words) == cut


def test_promptmrg_counts_what_stands_between_spaces():
    assert clean("Seen ___ before", "promptmrg", 3) == "seen  before"
    assert clean("Seen ___ before", "r2gen_mimic", 3) == "seen  before ."


def test_unknown_protocol_names_the_valid_ones():
    with pytest.raises(ValueError, match=r"'chexbert'.*none, r2gen_iu"):
        clean("", "chexbert")


@pytest.mark.parametrize("max_words", [0, -1])
def test_a_limit_below_one_word_is_refused(max_words):
    with pytest.raises(ValueError, match="at least 1 or null"):
        clean("Heart normal.", "none", max_words)


texts = st.text(st.sampled_from("abE 12.,:;/-_\"'\n\t[]()É"), max_size=60)


@given(texts, st.sampled_from(CHANGING))
def test_cleaned_text_is_small_letters_and_ends_in_a_stop(text, protocol):
    cleaned = clean(text, protocol)
    assert cleaned == cleaned.lower()
    assert cleaned.endswith(" .")
    assert not set(cleaned) & set(",;/_\"'[]()")
    assert all(word == "." for word in cleaned.split() if "." in word)


@given(texts, st.sampled_from(PROTOCOLS), st.integers(1, 20))
def test_a_limit_keeps_the_first_words(text, protocol, max_words):
    whole, cut = clean(text, protocol), clean(text, protocol, max_words)
    assert whole.startswith(cut)
    if protocol == "promptmrg":
        assert len(cut.split(" ")) <= max_words
    else:
        assert cut.split() == whole.split()[:max_words]


@given(texts, st.sampled_from(PROTOCOLS), st.none() | st.integers(1, 20))
def test_a_cleaned_text_is_not_cleaned_twice(text, protocol, max_words):
    cleaned = clean(text, protocol, max_words)
    assert clean_once(cleaned, protocol, max_words) == cleaned


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_text_that_was_not_cleaned_is_cleaned_once_and_a_cleaned_one_still_cut(protocol):
    assert clean_once(REPORT, protocol, 9) == clean(REPORT, protocol, 9)
    assert clean_once("no edema", protocol) == clean("no edema", protocol)
    cut = "no  edema ." if protocol == "promptmrg" else "no  edema . clear"
    assert clean_once("no  edema . clear .", protocol, 4) == cut

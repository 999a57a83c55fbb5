"""Token ids as the original makes them, and spans that lead back into the text as given."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer

from radrl.labelers.chexbert.model import Encoded, build_tokenizer, encode

AWKWARD = (
    "",
    " \n\t ",
    "The heart is enlarged.",
    "  Leading blanks,  double  blanks and\ttabs.\r\nNew\nlines.\n\n",
    "Café résumé CAFÉ cafe\u0301",
    "___ year old, [**Name**] XXXX.",
    "1/2 (12) pneumothorax--effusions",
    "no\x0cpleural\x0beffusion\x1cno\x85heart\xa0lung\u2003lungs",
    "heart\u200bs \ufeffheart soft\xadware nul\x00heart \ufffdheart",
    "胸部X線 心拡大 heart 胸",
    "\U0001f600 ∞ ß İ Ω ﬁ",
    "lungs" * 30,
    "a" * 101,
    "[SEP] [sep] heart[MASK]heart [UNK]",
    "lone \ud800 surrogate heart\udfffs",
)


def reference(text: str, vocabulary: list[str]) -> list[str]:
    """What BERT's own tokenizer does (Devlin et al. 2018, tokenization.py), after CheXbert's clean-up."""
    text = re.sub(r"\s+", " ", text.strip().replace("\n", " ")).strip()
    pieces = []
    for part in re.split(r"(\[PAD\]|\[UNK\]|\[CLS\]|\[SEP\]|\[MASK\])", text):
        if re.fullmatch(r"\[[A-Z]+\]", part):
            pieces.append(part)
            continue
        kept = "".join(
            f" {char} " if is_chinese(char) else " " if is_blank(char) else char
            for char in part
            if char not in "\0\ufffd" and (is_blank(char) or not unicodedata.category(char).startswith("C"))
        )
        for word in kept.split():
            bare = unicodedata.normalize("NFD", word.lower())
            bare = "".join(char for char in bare if unicodedata.category(char) != "Mn")
            spaced = "".join(f" {char} " if is_punctuation(char) else char for char in bare)
            pieces += [piece for run in spaced.split() for piece in longest_match(run, set(vocabulary))]
    return pieces


def is_blank(char: str) -> bool:
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_chinese(char: str) -> bool:
    return 0x4E00 <= ord(char) <= 0x9FFF or 0x3400 <= ord(char) <= 0x4DBF or 0xF900 <= ord(char) <= 0xFAFF


def is_punctuation(char: str) -> bool:
    ascii_signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    return char in ascii_signs or unicodedata.category(char).startswith("P")


def longest_match(word: str, vocabulary: set[str]) -> list[str]:
    pieces: list[str] = []
    rest = word
    while rest and len(word) <= 100:
        prefix = "##" if pieces else ""
        end = next((end for end in range(len(rest), 0, -1) if prefix + rest[:end] in vocabulary), 0)
        if not end:
            return ["[UNK]"]
        pieces.append(prefix + rest[:end])
        rest = rest[end:]
    return pieces or ["[UNK]"]


def pieces_of(tokenizer: BertTokenizer, encoded: Encoded) -> list[str]:
    found: list[str] = tokenizer.convert_ids_to_tokens(encoded.ids)
    return found


@pytest.mark.parametrize("text", AWKWARD)
def test_tokens_are_the_originals(text: str, tokenizer: BertTokenizer, vocabulary: list[str]) -> None:
    [encoded] = encode(tokenizer, [text])
    assert pieces_of(tokenizer, encoded) == ["[CLS]", *reference(text, vocabulary), "[SEP]"]


@given(text=st.text(alphabet="tThHe .,-_\n\t\x0c[]SEPxX12éÉ aAbB\xa0", max_size=40))
def test_tokens_of_any_text_are_the_originals(
    text: str, tokenizer: BertTokenizer, vocabulary: list[str]
) -> None:
    [encoded] = encode(tokenizer, [text])
    assert pieces_of(tokenizer, encoded) == ["[CLS]", *reference(text, vocabulary), "[SEP]"]


@pytest.mark.parametrize("text", [*AWKWARD, "the heart, enlarged.\n" * 233])  # 700 words
def test_text_at_a_span_is_its_token(text: str, tokenizer: BertTokenizer) -> None:
    [encoded] = encode(tokenizer, [text], max_tokens=5000)
    pieces = pieces_of(tokenizer, encoded)[1:-1]
    assert len(encoded.spans) == len(pieces)
    for piece, (start, end) in zip(pieces, encoded.spans, strict=True):
        cut = text[start:end]
        if piece == "[UNK]":
            assert cut
            assert not re.search(r"\s", cut)
        elif piece.startswith("["):
            assert cut == piece
        else:
            bare = unicodedata.normalize("NFD", cut).lower()
            bare = "".join(
                c for c in bare if unicodedata.category(c)[0] != "C" and unicodedata.category(c) != "Mn"
            )
            assert bare == piece.removeprefix("##")


def test_spans_are_in_order_and_apart(tokenizer: BertTokenizer) -> None:
    for encoded in encode(tokenizer, list(AWKWARD)):
        ends = [0, *(end for _, end in encoded.spans)]
        assert all(start >= end for end, (start, _) in zip(ends, encoded.spans, strict=False))


def test_long_report_is_cut_to_512_with_sep_last(tokenizer: BertTokenizer) -> None:
    text = "heart " * 700
    [encoded] = encode(tokenizer, [text])
    pieces = pieces_of(tokenizer, encoded)
    assert pieces == ["[CLS]", *["heart"] * 510, "[SEP]"]
    assert encoded.spans[-1] == (509 * 6, 509 * 6 + 5)


def test_report_of_exactly_512_is_whole(tokenizer: BertTokenizer) -> None:
    assert [len(e.ids) for e in encode(tokenizer, ["heart " * 510, "heart " * 511])] == [512, 512]


def test_fewer_positions_cut_earlier(tokenizer: BertTokenizer) -> None:
    [encoded] = encode(tokenizer, ["heart is clear no lung"], max_tokens=4)
    assert pieces_of(tokenizer, encoded) == ["[CLS]", "heart", "is", "[SEP]"]


def test_no_report_gives_none(tokenizer: BertTokenizer) -> None:
    assert encode(tokenizer, []) == []


def test_vocabulary_without_special_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no \[CLS\], \[SEP\], \[MASK\] among 3 word pieces"):
        build_tokenizer(["[PAD]", "[UNK]", "heart"])


def test_vocabulary_with_a_piece_twice_is_refused(vocabulary: list[str]) -> None:
    with pytest.raises(ValueError, match="'heart' is there twice"):
        build_tokenizer([*vocabulary, "heart"])

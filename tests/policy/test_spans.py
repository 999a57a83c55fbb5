"""Spans of tokens against the tokenizer's own decoding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_families import gemma_tokenizer
from tokenizers import AddedToken, Tokenizer, models
from transformers import PreTrainedTokenizerFast

from radrl.policy import tiny
from radrl.policy.spans import ByteLevelSpans


def build() -> PreTrainedTokenizerFast:
    """The laptop policy's tokenizer, and added tokens that are no special ones, as Qwen's <tool_call>."""
    tokenizer = tiny.train_tokenizer(["The heart is enlarged.", "Œdème à 38 °C, 心 大"], 330)
    tokenizer.add_tokens([AddedToken("<tool_call>"), AddedToken("left lung"), AddedToken("心大")])
    return tokenizer


TOKENIZER = build()
SPANS = ByteLevelSpans(TOKENIZER)
UNKNOWN = len(TOKENIZER) + 7  # Qwen's embedding has more rows than its vocabulary words
IDS = st.lists(st.integers(0, len(TOKENIZER) - 1) | st.just(UNKNOWN), max_size=60)
BYTES = {
    byte: TOKENIZER.convert_tokens_to_ids(sign)
    for byte, sign in {0xC3: "Ã", 0xA9: "©", 0xE5: "å", 0xBF: "¿", 0x83: "ĥ", 0x41: "A"}.items()
}


@given(IDS)
def test_text_is_what_the_tokenizer_decodes(ids: list[int]) -> None:
    assert SPANS.locate(ids).text == TOKENIZER.decode(ids, skip_special_tokens=True)


@given(IDS)
def test_spans_cover_the_text_in_order(ids: list[int]) -> None:
    found = SPANS.locate(ids)
    covered = np.zeros(len(found.text), bool)
    for start, end in found.spans:
        assert 0 <= start <= end <= len(found.text)
        covered[start:end] = True
    assert covered.all()
    own = found.spans[found.spans[:, 0] < found.spans[:, 1]]  # a special token may part a character
    assert (np.diff(own, axis=0) >= 0).all()
    assert found.spans.shape == (len(ids), 2)


@given(st.text(max_size=40))
def test_a_tokens_span_holds_its_text(text: str) -> None:
    ids = TOKENIZER(text)["input_ids"]
    found = SPANS.locate(ids)
    assert found.text == TOKENIZER.decode(ids, skip_special_tokens=True)
    for number, (start, end) in zip(ids, found.spans, strict=True):
        alone = TOKENIZER.decode([number], skip_special_tokens=True)
        assert "\ufffd" in alone or found.text[start:end] == alone


@given(IDS, st.integers(0, 60))
def test_special_tokens_move_nothing(ids: list[int], at: int) -> None:
    plain = SPANS.locate(ids)
    found = SPANS.locate([*ids[:at], TOKENIZER.eos_token_id, *ids[at:]])
    assert found.text == plain.text
    end = min(at, len(ids))
    start, stop = found.spans[end]
    assert start == stop
    assert np.delete(found.spans, end, axis=0).tolist() == plain.spans.tolist()


@pytest.mark.parametrize(
    ("data", "text", "spans"),
    [
        ([0x41, 0xC3, 0xA9, 0x41], "AéA", [[0, 1], [1, 2], [1, 2], [2, 3]]),  # one character in two tokens
        ([0xE5, 0xBF, 0x83], "心", [[0, 1]] * 3),
        ([0xC3, 0x41], "\ufffdA", [[0, 1], [1, 2]]),  # cut short by another character
        ([0x41, 0xE5, 0xBF], "A\ufffd", [[0, 1], [1, 2], [1, 2]]),  # cut short by the end
        ([0xBF, 0xBF], "\ufffd\ufffd", [[0, 1], [1, 2]]),  # never began
        ([], "", []),
    ],
)
def test_characters_cut_between_tokens_by_hand(data: list[int], text: str, spans: list[list[int]]) -> None:
    ids = [BYTES[byte] for byte in data]
    found = SPANS.locate(ids)
    assert (found.text, found.spans.tolist()) == (text, spans)


def test_ids_a_tokenizer_would_not_choose() -> None:
    """ "heart" spelt byte by byte and as a word: other ids, the same text, spans of their own."""
    spelt = TOKENIZER.convert_tokens_to_ids(["h", "e", "a", "r", "t"])
    chosen = TOKENIZER("heart")["input_ids"]
    assert len(chosen) < 5
    assert SPANS.locate(spelt).text == SPANS.locate(chosen).text == "heart"
    assert SPANS.locate(spelt).spans.tolist() == [[i, i + 1] for i in range(5)]


def test_another_kind_of_tokenizer_is_refused() -> None:
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    with pytest.raises(ValueError, match=r"needs byte-level BPE, as Qwen2\.5-VL has"):
        ByteLevelSpans(words)


GEMMA = PreTrainedTokenizerFast(
    tokenizer_object=gemma_tokenizer(["The heart is enlarged.", "Œdème à 38 °C, 心 大", "two  blanks"]),
    eos_token="<end_of_turn>",
    clean_up_tokenization_spaces=False,
)
GEMMA.add_tokens([AddedToken("<unused7>"), AddedToken("left lung")])
GEMMAS = ByteLevelSpans(GEMMA)
BYTEWISE = st.integers(0, 255).map(lambda byte: int(GEMMA.convert_tokens_to_ids(f"<0x{byte:02X}>")))
GEMMA_IDS = st.lists(st.integers(0, len(GEMMA) - 1) | st.just(len(GEMMA) + 7) | BYTEWISE, max_size=60)


@given(GEMMA_IDS)
def test_text_of_gemmas_tokens_is_what_it_decodes(ids: list[int]) -> None:
    found = GEMMAS.locate(ids)
    assert found.text == GEMMA.decode(ids, skip_special_tokens=True)
    covered = np.zeros(len(found.text), bool)
    for start, end in found.spans:
        covered[start:end] = True
    assert covered.all()


@given(st.text(max_size=40))
def test_any_text_in_gemmas_tokens(text: str) -> None:
    ids = GEMMA(text, add_special_tokens=False)["input_ids"]
    found = GEMMAS.locate(ids)
    assert found.text == GEMMA.decode(ids, skip_special_tokens=True)
    for number, (start, end) in zip(ids, found.spans, strict=True):
        alone = GEMMA.decode([number], skip_special_tokens=True)
        assert "\ufffd" in alone or found.text[start:end] == alone


@pytest.mark.parametrize(
    ("tokens", "text", "spans"),
    [
        (["T", "<0xC3>", "<0xA9>", "▁"], "Té ", [[0, 1], [1, 2], [1, 2], [2, 3]]),
        (
            ["<0xC3>", "<end_of_turn>", "<0xA9>"],
            "é",
            [[0, 1], [1, 1], [0, 1]],
        ),  # a special token parts nothing
        (["<0xC3>", "T"], "\ufffdT", [[0, 1], [1, 2]]),
        # é and a byte that begins nothing: of bytes in a row that are no text none is
        (["<0xC3>", "<0xA9>", "<0xBF>"], "\ufffd\ufffd\ufffd", [[0, 1], [1, 2], [2, 3]]),
    ],
)
def test_gemmas_bytes_by_hand(tokens: list[str], text: str, spans: list[list[int]]) -> None:
    ids = GEMMA.convert_tokens_to_ids(tokens)
    assert GEMMA.decode(ids, skip_special_tokens=True) == text
    found = GEMMAS.locate(ids)
    assert found.text == text
    own = [
        span for span, token in zip(found.spans.tolist(), tokens, strict=True) if not token.startswith("<e")
    ]
    assert own == [span for span, token in zip(spans, tokens, strict=True) if not token.startswith("<e")]

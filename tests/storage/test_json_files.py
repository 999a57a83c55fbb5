"""What is said of JSON that cannot be read; its readers are in tests/test_damaged_files.py."""

import pytest

from radrl.storage import json_files


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "Expecting ',' delimiter at character 8"),
        ('{"a": 1,\n "b" 2}', "Expecting ':' delimiter at line 2, column 6"),
        (b'{"a": "\xff"}', "bytes that are no UTF-8"),
        ("[" * 100_000, "brackets in brackets without end"),
        ("[" + "1" * 5_000 + "]", "a number of more digits than can be read"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        (r'["\ud800"]', "half of a surrogate pair"),
    ],
)
def test_why_a_text_is_no_json(text, said):
    with pytest.raises(json_files.NoJson, match=said):
        json_files.parsed(text)


def test_a_byte_order_mark_and_whole_surrogate_pairs_are_no_fault():
    assert json_files.parsed(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_every_object_is_handed_over_from_the_inside_out():
    assert json_files.parsed('{"a": {"b": 1}}', each=lambda found: sorted(found)) == ["a"]


def test_a_file_is_named_with_the_mend(tmp_path):
    path = tmp_path / "a.json"
    with pytest.raises(json_files.NoJson, match=r"a\.json cannot be read: No such file .*; fetch it again"):
        json_files.read(path)
    path.write_text("{")
    with pytest.raises(KeyError, match=r"a\.json is no JSON: .* at character 2; run it"):
        json_files.read(path, KeyError, mend="run it")

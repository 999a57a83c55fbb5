"""YAML that libyaml would end the process over, or that memory would not hold."""

import pytest

from radrl.storage import yaml_files

LAUGHS = "\n".join(
    ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 100_000, r"a\.yaml, line 1: no valid YAML, brackets in brackets without end"),
        ("a: 1\n" + LAUGHS, r"aliases that stand for more than 1,000,000 values"),
        ("a: &a [*a]", "an alias of what it stands in"),
        ("a: " + "1" * 5_000, "a number of more digits than can be read"),
        ("a: 2020-13-45", r"a value that cannot be read \(month must be in 1..12\)"),
    ],
)
def test_yaml_without_bounds_is_refused(tmp_path, text, said):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(yaml_files.NoYaml, match=said):
        yaml_files.read(path)


def test_an_alias_of_what_came_before_is_sound(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {b: 1}\nc: *a\n")
    assert yaml_files.read(path) == {"a": {"b": 1}, "c": {"b": 1}}


def test_what_is_no_text_or_no_file_is_named(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"a: \xff")
    with pytest.raises(KeyError, match=r"a\.yaml holds bytes that are no UTF-8"):
        yaml_files.read(tmp_path / "a.yaml", KeyError)
    with pytest.raises(yaml_files.NoYaml, match=r"cannot be read: Is a directory"):
        yaml_files.read(tmp_path)

"""What is made of DVC's words, with words that are given."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.provenance.code import CODE_FILE
from radrl.reproduction import graph
from radrl.reproduction.graph import (
    DvcError,
    cache_folder,
    changed,
    out_of_date,
    read_dot,
    said_by_dvc,
    stages,
    with_followers,
    would_run,
)

DOT = 'strict digraph  {\n"code";\n"a@x";\n"b";\n"c";\n"a@x" -> "b";\n"b" -> "c";\n}\n'
GRAPH = {"code": set(), "a@x": set(), "b": {"a@x"}, "c": {"b"}}


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], Any]:
    """What DVC answers to arguments; what is none of them it refuses."""
    answers: dict[tuple[str, ...], Any] = {("dag", "--dot"): DOT}

    def said(root: Path, *arguments: str) -> str:
        if arguments not in answers:
            raise DvcError(f"{arguments} is refused")
        return answers[arguments]

    monkeypatch.setattr(graph, "said_by_dvc", said)
    return answers


def test_drawing_by_hand() -> None:
    assert read_dot(DOT) == GRAPH
    assert read_dot("") == {}


def test_stages_of_targets_are_joined(says: dict[tuple[str, ...], Any], tmp_path: Path) -> None:
    assert stages(tmp_path) == GRAPH
    says["dag", "--dot", "b"] = '"a@x";\n"b";\n"a@x" -> "b";\n'
    says["dag", "--dot", "code"] = '"code";\n'
    assert stages(tmp_path, ["b", "code"]) == {"a@x": set(), "b": {"a@x"}, "code": set()}


def test_unknown_stage_is_named_and_a_known_ones_error_stays(
    says: dict[tuple[str, ...], Any], tmp_path: Path
) -> None:
    with pytest.raises(DvcError, match=r"'a@y' is no stage; did you mean 'a@x'\? Stages: code, a@x, b, c"):
        stages(tmp_path, ["a@y"])
    with pytest.raises(DvcError, match="'b'\\) is refused"):
        stages(tmp_path, ["b"])


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("{}", set()),
        ("", set()),
        ('{"code": ["always changed"]}', set()),
        ('{"b": [{"changed deps": {"x": "modified"}}]}', {"b", "c", "code"}),
        ('{"code": ["always changed"], "c": ["changed command"]}', {"c", "code"}),
        # other digests of code, of which no stage that is asked about reads its own
        ('{"code": [{"changed outs": {"code.yaml": "modified"}}]}', {"code"}),
        ('{"elsewhere": ["changed command"]}', set()),
    ],
)
def test_what_has_changed_and_all_behind_it_is_out_of_date(
    says: dict[tuple[str, ...], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    expected: set[str],
) -> None:
    digested: list[Path] = []
    monkeypatch.setattr(graph, "digest_code", digested.append)
    says["status", "--json"] = status
    assert out_of_date(tmp_path, GRAPH) == expected
    assert digested == [tmp_path]  # before DVC compares


def test_code_is_digested_only_where_it_is_a_stage(
    says: dict[tuple[str, ...], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "digest_code", lambda root: pytest.fail("there is no such stage"))
    says["status", "--json"] = '{"a@x": ["changed command"]}'
    without = {stage: before for stage, before in GRAPH.items() if stage != "code"}
    assert out_of_date(tmp_path, without) == {"a@x", "b", "c"}


DIGESTS = "of:\n  b: '1'\n  c: '1'\n"


@pytest.mark.parametrize(
    ("status", "untrue", "digests", "expected"),
    [
        ("{}", [], DIGESTS, set()),
        ('{"code": ["always changed"]}', [], DIGESTS, set()),
        ('{"code": ["always changed"], "c": ["changed command"]}', [], DIGESTS, {"c", "code"}),
        ('{"b": [{"changed deps": {"x": "modified"}}]}', [], DIGESTS, {"b", "c", "code"}),
        ('{"b": [{"changed deps": "all"}]}', [], DIGESTS, {"b", "c", "code"}),
        # DVC compares the digests that lie there, which are of an earlier look
        (f'{{"b": [{{"changed deps": {{"{CODE_FILE}": "modified"}}}}]}}', [], DIGESTS, set()),
        (
            f'{{"b": [{{"changed deps": {{"{CODE_FILE}": "modified", "x": "new"}}}}]}}',
            [],
            DIGESTS,
            {"b", "c", "code"},
        ),
        ("{}", [], DIGESTS.replace("c: '1'", "c: '2'"), {"c", "code"}),
        ("{}", [], DIGESTS + "other: '2'\n", {"code"}),
        ("{}", ["c"], DIGESTS, {"c", "code"}),
        ('{"elsewhere": ["changed command"]}', ["gone"], DIGESTS, set()),
    ],
)
def test_what_would_run_goes_by_the_digests_of_now(
    says: dict[tuple[str, ...], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    untrue: list[str],
    digests: str,
    expected: set[str],
) -> None:
    read = {name: {"params": {str(CODE_FILE): {f"of.{name}": "1"}}} for name in ("b", "c")}
    wrote = {"outs": [{"path": str(CODE_FILE), "md5": hashlib.md5(DIGESTS.encode()).hexdigest()}]}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": {**read, "code": wrote}}))
    monkeypatch.setattr(graph, "printed_digests", lambda root: digests)
    says["status", "--json"] = status
    assert would_run(tmp_path, GRAPH, untrue) == expected


def test_what_would_run_needs_no_digests_where_no_stage_writes_them(
    says: dict[tuple[str, ...], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "printed_digests", lambda root: pytest.fail("there is no such stage"))
    says["status", "--json"] = '{"b": ["changed command"], "elsewhere": ["changed command"]}'
    without = {stage: before for stage, before in GRAPH.items() if stage != "code"}
    assert would_run(tmp_path, without) == {"b", "c"}
    assert would_run(tmp_path, without, ["a@x"]) == {"a@x", "b", "c"}


def test_changes_by_hand() -> None:
    assert changed('{"code": ["always changed"], "b": ["changed command"]}') == {"b": ["changed command"]}


def test_followers_down_to_the_last() -> None:
    assert with_followers(GRAPH, ["a@x"]) == {"a@x", "b", "c"}
    assert with_followers(GRAPH, ["c", "code"]) == {"c", "code"}
    assert with_followers(GRAPH, []) == set()


def test_folder_of_the_cache_is_dvcs(says: dict[tuple[str, ...], Any], tmp_path: Path) -> None:
    says["cache", "dir"] = "../shared/cache\n"
    cache_folder.cache_clear()
    assert cache_folder(tmp_path) == tmp_path / "../shared/cache"
    says["cache", "dir"] = "another\n"
    assert cache_folder(tmp_path) == tmp_path / "../shared/cache"  # asked once
    says["cache", "dir"] = "/shared\n"
    cache_folder.cache_clear()
    assert cache_folder(tmp_path) == Path("/shared")


SAYS = "import os, sys; print(os.getcwd()); sys.stderr.write(sys.argv[2]); sys.exit(int(sys.argv[1]))"


def test_program_runs_in_the_project_and_what_it_prints_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "DVC", (sys.executable, "-c", SAYS))
    assert said_by_dvc(tmp_path, "0", "a warning").strip() == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ERROR: no such stage\n", "no such stage"),
        ("Error: no such arm", "no such arm"),
        ("ERROR: x is not a git repository", "x is not a git repository; DVC, studies"),
        ("", "/"),  # what it printed, where it said nothing of the error
    ],
)
def test_program_that_fails_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.setattr(graph, "DVC", (sys.executable, "-c", SAYS))
    with pytest.raises(DvcError) as caught:
        said_by_dvc(tmp_path, "3", words)
    assert str(caught.value).startswith(said)


def test_digests_of_code_are_our_own_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(graph, "_said", lambda command, root: asked.append((command, root)))
    graph.digest_code(tmp_path)
    assert asked == [([sys.executable, "-m", "radrl.commands", "code"], tmp_path)]

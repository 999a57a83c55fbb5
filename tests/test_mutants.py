"""tools/mutants.py on a package of three lines: what a weak test lets live and a strong one kills."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mutation.rooms import read
from mutation.sites import drawn, mutants, mutated

ROOT = Path(__file__).parents[1]
SOURCE = '''\
"""Sums."""


def strong(a, b):
    return a + b


def weak(a, b):
    return a * b
'''
WEAK = """\
from tiny.sums import strong, weak


def test_strong():
    assert strong(1, 2) == 3


def test_weak():
    assert weak(3, 1) == 3
"""
ROOMS = """\
source = "src"

[rooms.tiny]
folder = "src/tiny"
tests = ["tests"]
"""
SURVIVOR = "arithmetic: a * b → a / b"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src/tiny").mkdir(parents=True)
    (tmp_path / "src/tiny/__init__.py").touch()
    (tmp_path / "src/tiny/sums.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_sums.py").write_text(WEAK)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "rooms.toml").write_text(ROOMS)
    return tmp_path


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tool on all mutants of the project."""
    own = ["--root", ".", "--rooms", "rooms.toml", "--explained", "explained.csv", "--mutants", "0"]
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/mutants.py"), *own, *options],
        cwd=project,
        capture_output=True,
        text=True,
    )


def ledger(project: Path) -> list[str]:
    return (project / "build/mutants/ledger.jsonl").read_text().splitlines()


def test_weak_test_lets_a_mutant_live_and_a_strong_one_kills_it(project: Path) -> None:
    first = run(project, "--write", "page.md")
    assert first.returncode == 1, first.stderr
    # of each function: what it returns, and its operator
    assert "tiny: 3 of 4 killed (75.0 %)" in first.stdout
    assert f"survived: src/tiny/sums.py:9 weak: {SURVIVOR}" in first.stdout
    assert first.stdout.count("survived") == 1
    assert f"| src/tiny/sums.py:9 weak | `{SURVIVOR}` | no test fails | **none yet** |" in (
        project / "page.md"
    ).read_text(encoding="utf-8")

    known = ledger(project)
    assert run(project).stdout == first.stdout
    assert ledger(project) == known  # nothing was run again

    cut_off = "\n".join([*known[:3], known[3][:40]])  # as a kill leaves it
    (project / "build/mutants/ledger.jsonl").write_text(cut_off + "\n")
    assert run(project).stdout == first.stdout
    assert len(ledger(project)) == 5

    (project / "tests/test_sums.py").write_text(WEAK.replace("weak(3, 1) == 3", "weak(3, 2) == 6"))
    last = run(project)
    assert (last.returncode, last.stdout) == (0, "tiny: 4 of 4 killed (100.0 %)\n"), last.stderr
    assert (project / "src/tiny/sums.py").read_text() == SOURCE


def test_equivalent_mutant_is_not_counted_and_its_reason_is_on_the_page(project: Path) -> None:
    explained = project / "explained.csv"
    line = f"src/tiny/sums.py,weak,{SURVIVOR},equivalent,b is 1\n"
    explained.write_text(f"module,scope,change,kind,reason\n{line}", encoding="utf-8")
    found = run(project, "--write", "page.md")
    assert (found.returncode, found.stdout) == (0, "tiny: 3 of 3 killed (100.0 %)\n"), found.stderr
    page = (project / "page.md").read_text(encoding="utf-8")
    assert f"| `{SURVIVOR}` | b is 1 |" in page
    assert "| tiny | 4 | 4 | 1 | 3 | 0 | 0 | 0 | 100.0 % |" in page

    explained.write_text(explained.read_text(encoding="utf-8").replace("a / b", "a // b"), encoding="utf-8")
    stale = run(project)
    assert stale.returncode == 2
    assert "entry 2: there is no mutant src/tiny/sums.py::weak::arithmetic: a * b → a // b" in stale.stderr


def test_wrong_room_is_named_with_the_right_ones(project: Path) -> None:
    found = run(project, "tny")
    assert (found.returncode, found.stdout) == (2, "")
    assert "no room 'tny'; give some of tiny, or none for all" in found.stderr


def test_tests_that_fail_without_a_mutant_say_nothing_of_mutants(project: Path) -> None:
    (project / "tests/test_sums.py").write_text(WEAK.replace("== 3", "== 4"))
    found = run(project)
    assert found.returncode == 2
    assert "tiny: without any mutant, its tests fail (tests/test_sums.py::test_strong" in found.stderr


def test_a_mutant_that_never_ends_is_ended_with_what_it_started(tmp_path: Path) -> None:
    script = (
        "import subprocess\n"
        "from mutation.forks import forked\n"
        "def work():\n"
        "    open('child', 'w').write(str(subprocess.Popen(['sleep', '600']).pid))\n"
        "    while True:\n"
        "        pass\n"
        "assert forked(work, cpu=0.1)[0] is None\n"
        "assert forked(lambda: {'a': 1}, cpu=9)[0] == {'a': 1}\n"
    )
    subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "tools")}, check=True
    )
    stat = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"  # nobody has collected it yet


@pytest.mark.slow
@pytest.mark.parametrize("room", read(ROOT / "tools/mutation/rooms.toml", ROOT).rooms)
def test_tests_of_a_room_notice_all_but_a_few_mutants(room: str, tmp_path: Path) -> None:
    """95 of 100 at least, and the others have a reason: docs/bench/mutants.md has the last figures."""
    command = [sys.executable, str(ROOT / "tools/mutants.py"), room, "--work", str(tmp_path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def changes(source: str) -> set[str]:
    return {one.change for one in mutants("m.py", source)}


def test_mutants_of_a_line_by_hand() -> None:
    assert changes("def f(a, b=True):\n    return a[1:] < b\n") == {
        "constant: True → False",
        "return: return a[1:] < b → return None",
        "comparison: a[1:] < b → a[1:] <= b",
        "comparison: a[1:] < b → a[1:] >= b",
        "constant: 1 → 2",
        "constant: 1 → 0",
    }
    assert changes("def f(a):\n    a = g(a, key=a)\n    if not a and a.x:\n        a += min(a)\n") == {
        "leave out: a = g(a, key=a)",
        "keyword: g(a, key=a) → g(a)",
        "and/or: not a and a.x → not a or a.x",
        "not: not a → a",
        "leave out: a += min(a)",
        "arithmetic: a += min(a) → a -= min(a)",
        "call: min(a) → max(a)",
    }


def test_what_is_left_alone() -> None:
    source = '''\
"""Of 3 words."""
if TYPE_CHECKING:
    import a
Kind = int | str

@dataclass(frozen=True)
class A:
    """Of 3 words."""

    one: Annotated[int, Field(ge=0)]

    def f(self, a: Literal[3]) -> Literal[3]:
        """Of 3 words."""
        b = zip(a, a, strict=True)
        logger.info("of %d", 3 + a)
        raise ValueError(f"{a + 3}", 3)
'''
    assert {change.partition(":")[0] for change in changes(source)} == {"raise"}


def test_tree_of_a_mutant_differs_in_its_place_alone() -> None:
    source = "def f(a):\n    return (a + 1,\n            a + 2)\n"
    (one,) = [one for one in mutants("m.py", source) if one.change == "arithmetic: a + 2 → a - 2"]
    names: dict[str, object] = {}
    exec(compile(mutated(source, one), "m.py", "exec"), names)
    assert names["f"](5) == (6, 3)  # type: ignore[operator]
    assert (one.scope, one.lines, one.statement) == ("f", (3, 3), (2, 3))


def test_draw_has_of_each_module_its_share_and_does_not_hang_on_the_others() -> None:
    large = mutants("large.py", "\n".join(f"a{i} = b < {i}" for i in range(60)))
    small = mutants("small.py", "a = b < c")  # 2 mutants
    chosen = drawn([*large, *small], 20, seed=1)
    assert [one.file for one in chosen].count("small.py") == 1
    assert 20 <= len(chosen) <= 21
    assert {one.name for one in drawn(large, 10, seed=1)} < {one.name for one in drawn(large, 20, seed=1)}
    assert drawn(large, 10, seed=1) != drawn(large, 10, seed=2)
    assert len(drawn(large, 0, seed=1)) == len(large)

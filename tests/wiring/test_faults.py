"""What goes wrong under `radrl repro`: what it says of it, and that it then ends with the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from kedro_repro.dvc_repair import mend
from kedro_repro.locks import alone
from kedro_repro.programs import DVC, environment
from radrl.process import importing

SCRIPT = """\
import os, pathlib, sys, time
from kedro_repro.parent_death import end_with_starter
from radrl.storage.whole_files import whole_file
from radrl.errors import say_plainly
end_with_starter(os.environ)
say_plainly()
name, size, *read = sys.argv[1:]
if pathlib.Path("slow").exists() and name == "b":
    pathlib.Path("working").touch()
    time.sleep(600)
text = f"{name}({' '.join(pathlib.Path(path).read_text()[:9] for path in read)})" * int(size)
out = pathlib.Path("data", name)
if name == "b":
    out.mkdir()
    (out / "second").write_text("2")
    out = out / "first"
with whole_file(out) as stream:
    stream.write(text.encode())
"""
READS = {"a": [], "b": ["data/a"], "c": ["data/a", "data/b/first"]}
SIZES = {"a": 1_000_000, "b": 1, "c": 1}
"""The output of `a` has 3 MB."""
PARAMS: dict[str, Any] = {
    "threads": 1,
    "device": "cuda",  # so that stages are processes of their own, without a warm server
    "policy": {"path": None},
    "ingest": {"source": "phantom"},
}
NOTICE = (
    "no private mounts here: `sysctl kernel.unprivileged_userns_clone=1`, or run as root (Debian: util-linux)"
)


def make(folder: Path) -> Path:
    (folder / "conf" / "recipes").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "script.py").write_text(SCRIPT)
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    wiring = {
        name: {
            "cmd": f"{sys.executable} script.py {name} {SIZES[name]} {' '.join(read)}",
            "deps": ["script.py", *read],
            "outs": [f"data/{name}"],
        }
        for name, read in READS.items()
    }
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": wiring}, sort_keys=False))
    shutil.copy(Path(__file__).parents[2] / ".dvcignore", folder)
    for arguments in (("init", "--no-scm", "--quiet"), ("config", "core.analytics", "false")):
        subprocess.run([*DVC, *arguments], cwd=folder, check=True, env=environment())
    return folder


def variables(root: Path) -> dict[str, str]:
    return environment(PYTHONPATH=importing.first(root / "src", os.environ), MLFLOW_TRACKING_URI="off")


def start(project: Path, given: Mapping[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "radrl.commands", "repro", "--jobs", "1"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=project, env=given, stdout=pipe, stderr=pipe, text=True)


Repro = Callable[..., str]


@pytest.fixture
def repro(root: Path) -> Repro:
    """Run `radrl repro` to its end; what it said."""

    def run(project: Path, *, status: int = 0) -> str:
        process = start(project, variables(root))
        _, said = process.communicate()
        assert process.returncode == status, said
        assert "Traceback" not in said
        return said

    return run


@pytest.fixture(scope="module")
def unbroken(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after a run that nothing happened to."""
    project = make(tmp_path_factory.mktemp("unbroken") / "project")
    process = start(project, variables(root))
    _, said = process.communicate()
    assert process.returncode == 0, said
    return project


@pytest.fixture
def project(unbroken: Path, tmp_path: Path) -> Path:
    """A copy of it, which something happens to."""
    shutil.copytree(unbroken, tmp_path / "project")
    return tmp_path / "project"


def made(project: Path) -> tuple[Any, dict[str, bytes]]:
    """What dvc.lock says, and what lies there, whatever is hidden."""
    files = sorted(path for path in (project / "data").rglob("*") if path.is_file())
    there = {str(path.relative_to(project)): path.read_bytes() for path in files}
    return yaml.safe_load((project / "dvc.lock").read_text())["stages"], there


def stored(project: Path, stage: str, file: str = "") -> Path:
    """The object that DVC's cache has of an output, or of a folder's file."""
    (out,) = yaml.safe_load((project / "dvc.lock").read_text())["stages"][stage]["outs"]
    cache = project / ".dvc" / "cache" / "files" / "md5"
    found = cache / out["md5"][:2] / out["md5"][2:]
    if file:
        entries = {entry["relpath"]: entry["md5"] for entry in yaml.safe_load(found.read_text())}
        return cache / entries[file][:2] / entries[file][2:]
    return found


def marked(mark: str) -> list[psutil.Process]:
    """Processes that were started with a mark in their environment, and those below them."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("RADRL_TEST_MARK") == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


# A kill


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show no other process' environment")
def test_a_kill_leaves_nothing_running_and_a_whole_lock(
    unbroken: Path, project: Path, root: Path, repro: Repro
) -> None:
    (project / "slow").touch()
    shutil.rmtree(project / "data" / "b")
    shutil.rmtree(project / ".dvc" / "cache")
    process = start(project, variables(root) | {"RADRL_TEST_MARK": str(project)})
    while not (project / "working").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    running = marked(str(project))
    assert len(running) >= 3  # itself, DVC and the stage
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(running, timeout=60)[1]
    assert (
        "failed to run" in (project / "build/repro/b.log").read_text()
    )  # by DVC, which outlived its command
    (project / "slow").unlink()
    repro(project)
    assert made(project) == made(unbroken)


@pytest.mark.parametrize("signalled", [True, False], ids=["gone", "alive"])
def test_a_process_ends_after_the_one_that_it_was_started_for(signalled: bool, root: Path) -> None:
    """Also where that one has ended before it could look."""
    starter = subprocess.Popen(["sleep", "600"])
    if signalled:
        starter.kill()
        starter.wait()
    code = "import os, time\nfrom kedro_repro.parent_death import *\nend_with_starter(os.environ)"
    code += "\ntime.sleep(600)"
    own = variables(root) | {"KEDRO_REPRO_STARTER": str(starter.pid)}
    process = subprocess.Popen([sys.executable, "-c", code], env=own)
    starter.kill()
    starter.wait()
    assert process.wait(timeout=60) == -signal.SIGTERM


def test_a_start_beside_another_is_refused_with_its_number(project: Path, repro: Repro) -> None:
    with alone(project / "build/repro", "radrl repro"):
        said = repro(project, status=1)
    (line,) = said.splitlines()
    assert f"already running: another `radrl repro` (process {os.getpid()}) works in" in line


# DVC's own files, cut off


CUTS: dict[str, tuple[Callable[[str], int], int]] = {
    "nothing": (lambda text: 0, 0),
    "a digest": (lambda text: text.index("md5: ", text.index("  b:")) + 20, 1),
    "a name": (lambda text: text.index("  c:\n") + 3, 1),  # which may as well be a line of the stage before
    "a stage's head": (lambda text: text.index("  b:\n") + len("  b:\n"), 1),
    "no end of the line": (lambda text: len(text) - 1, 2),
}
"""By what is left of dvc.lock: where it ends, and how many of its stages are kept."""


@pytest.mark.parametrize("left", CUTS)
def test_stages_that_are_whole_stay_in_a_lock_that_was_cut_off(project: Path, left: str) -> None:
    file = project / "dvc.lock"
    text, (end, kept) = file.read_text(), CUTS[left]
    before = yaml.safe_load(text)["stages"]
    file.write_text(text[: end(text)])
    (said,) = mend(project)
    assert said.startswith(
        f"dvc.lock was cut off, as by a kill while DVC wrote it: {kept} of its stages are kept"
    )
    after = yaml.safe_load(file.read_text())["stages"] if kept else {}
    assert after == {stage: before[stage] for stage in list(before)[:kept]}
    assert file.exists() == bool(kept)
    assert mend(project) == []


@pytest.mark.parametrize("left", ["nothing", "a digest"])
def test_a_lock_that_was_cut_off_is_mended_and_the_rest_restored(
    unbroken: Path, project: Path, repro: Repro, left: str
) -> None:
    text = (project / "dvc.lock").read_text()
    (project / "dvc.lock").write_text(text[: CUTS[left][0](text)])
    assert "dvc.lock was cut off" in repro(project)
    assert made(project) == made(unbroken)


def test_a_lock_that_was_cut_between_two_stages_is_whole(unbroken: Path, project: Path, repro: Repro) -> None:
    text = (project / "dvc.lock").read_text()
    (project / "dvc.lock").write_text(text[: text.index("  c:\n")])
    assert "cut off" not in repro(project)
    assert made(project) == made(unbroken)


def test_a_lock_that_is_broken_otherwise_is_refused_and_left_as_it_is(project: Path, repro: Repro) -> None:
    text = (project / "dvc.lock").read_text()
    merged = text.replace("  b:\n", "<<<<<<< HEAD\n  b:\n")
    (project / "dvc.lock").write_text(merged)
    said = repro(project, status=1)
    assert "dvc.lock is broken" in said
    assert "`git checkout dvc.lock`" in said
    assert (project / "dvc.lock").read_text() == merged


@pytest.mark.parametrize("text", ["", '{"read": {"data/a": [{"pid": 1'])
def test_a_note_of_readers_and_writers_that_was_cut_off_is_removed(
    unbroken: Path, project: Path, repro: Repro, text: str
) -> None:
    (project / "data" / "c").unlink()
    (project / ".dvc/tmp/rwlock").write_text(text)
    assert "rwlock was cut off" in repro(project)
    assert made(project) == made(unbroken)


@pytest.mark.parametrize("lives", [True, False])
def test_a_note_of_a_process_whose_number_another_has_is_removed(project: Path, lives: bool) -> None:
    """DVC itself would say that the file is busy for as long as the other lives."""
    file = project / ".dvc/tmp/rwlock"
    process = {"pid": os.getpid(), "cmd": "dvc repro"}
    file.write_text(json.dumps({"write": {"data/c": process}, "read": {"data/a": [process]}}))
    if not lives:  # it was written before this process began
        os.utime(file, (0, 0))
    assert mend(project) == []
    assert file.exists() == lives


def test_a_folder_in_which_dvc_had_not_yet_written_is_removed(
    unbroken: Path, project: Path, repro: Repro
) -> None:
    """DVC itself fails over it each time it wants to run the stage."""
    for note in (project / ".dvc/cache/runs").glob("*/*/*"):
        note.unlink()
        os.utime(note.parent, (0, 0))
    (project / "dvc.lock").unlink()
    assert "runs: 3" in repro(project)
    assert made(project) == made(unbroken)


def test_what_a_kill_left_half_written_counts_in_no_digest(project: Path, repro: Repro) -> None:
    (project / "data" / "b" / ".first.1.partial").write_text("hal")
    assert "nothing to run" in repro(project)


# A cache that is not what was put there


def corrupt(broken: Path, held: bytes) -> None:
    broken.chmod(0o644)
    broken.write_bytes(held)
    broken.chmod(0o444)  # as DVC keeps objects that it need not look at


def remove(out: Path) -> None:
    shutil.rmtree(out) if out.is_dir() else out.unlink()


@pytest.mark.parametrize(("stage", "file"), [("a", ""), ("b", "first")])
def test_a_corrupted_object_is_named_and_what_it_held_is_made_anew(
    unbroken: Path, project: Path, repro: Repro, stage: str, file: str
) -> None:
    """DVC restores it as it is, and says that all is up to date."""
    broken = stored(project, stage, file)
    held = broken.read_bytes()
    corrupt(broken, bytes([held[0] ^ 1]) + held[1:])
    remove(project / "data" / stage)
    said = repro(project)
    assert f"what DVC restored of {stage} was broken and is made anew: {Path('data', stage, file)}." in said
    assert made(project) == made(unbroken)
    assert broken.read_bytes() == held


def test_a_corrupted_list_of_a_folder_is_named_and_what_it_listed_is_made_anew(
    unbroken: Path, project: Path, repro: Repro
) -> None:
    """DVC restores an empty folder, and writes that down in dvc.lock."""
    broken = stored(project, "b")
    held = broken.read_bytes()
    corrupt(broken, b"[]")
    remove(project / "data" / "b")
    assert f"{broken} was not what its name says" in repro(project)
    assert made(project) == made(unbroken)
    assert broken.read_bytes() == held


# A disk that refuses


def mounted(project: Path, before: str, mend: str, root: Path) -> tuple[str, str]:
    """Run twice where a mount is in the way, and is put right in between; what was said each time.

    The mounts are seen by these commands alone, and end with them.
    """
    if subprocess.run(["unshare", "--map-root-user", "--mount", "true"], capture_output=True).returncode:
        pytest.skip(NOTICE)
    repro = f"{sys.executable} -m radrl.commands repro --jobs 1"
    script = f"{before} || exit; (cd project && {repro} 2> ../first); {mend} && cd project || exit\n"
    script += f"{repro} 2> ../second && cp -r . ../outcome"
    work = project.parent
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(command, cwd=work, env=variables(root), capture_output=True, text=True)
    said = [file.read_text() if (file := work / name).is_file() else "" for name in ("first", "second")]
    assert done.returncode == 0, done.stderr + "".join(said)
    return said[0], said[1]


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("unshare"), reason=NOTICE)
@pytest.mark.parametrize("size", ["2m", "5m"], ids=["for the stage", "for DVC's cache"])
def test_a_full_disk_is_said_and_then_it_goes_on(
    unbroken: Path, tmp_path: Path, root: Path, size: str
) -> None:
    make(tmp_path / "given")
    (tmp_path / "project").mkdir()
    before = f"mount -t tmpfs -o size={size} tmpfs project && cp -r given/. project"
    said, _ = mounted(tmp_path / "project", before, "mount -o remount,size=64m project", root)
    assert "Traceback" not in said
    assert "the stage a ended with" in said
    assert "No space left on device" in said
    assert said.count("free some space") == 1
    assert made(tmp_path / "outcome") == made(unbroken)


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("unshare"), reason=NOTICE)
@pytest.mark.parametrize("folder", ["data", "."])
def test_a_folder_that_is_read_only_is_said_and_then_it_goes_on(
    unbroken: Path, tmp_path: Path, root: Path, folder: str
) -> None:
    make(tmp_path / "project")
    place = f"project/{folder}"
    before = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"
    said, _ = mounted(tmp_path / "project", before, f"umount {place}", root)
    assert "Traceback" not in said
    assert "Read-only file system" in said
    assert "make the file system writable" in said
    assert made(tmp_path / "outcome") == made(unbroken)

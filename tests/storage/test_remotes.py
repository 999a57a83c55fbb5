"""What one clone pushes to S3 another pulls, byte by byte, and nobody else is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

MISSING = [name for name in ("dvc_s3", "moto", "boto3") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"no {', '.join(MISSING)}: pip install -c constraints.txt '.[test-storage]'"
)

# Imported by every Python that starts in the clones, DVC's background processes too.
GUARD = """
import os, socket
_connect, _find = socket.socket.connect, socket.getaddrinfo
def _refuse(host):
    if str(host) not in {"127.0.0.1", "localhost", "::1"}:
        with open(os.environ["CALLS"], "a") as stream:
            stream.write(f"{host}\\n")
        raise OSError(f"the test refuses {host}")
def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        _refuse(address[0])
    return _connect(self, address)
def getaddrinfo(host, *rest, **named):
    _refuse(host)
    return _find(host, *rest, **named)
socket.socket.connect, socket.getaddrinfo = connect, getaddrinfo
"""
STAGES = """
stages:
  make:
    cmd: python make.py
    outs: [data/corpus, data/scores.json]
"""
MAKE = """
from pathlib import Path
Path("data/corpus/deep").mkdir(parents=True)
Path("data/corpus/part-0").write_bytes(bytes(range(256)) * 20000)
Path("data/corpus/deep/part-1").write_bytes(b"films")
Path("data/scores.json").write_text("{}")
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of moto's server with the bucket `store`."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket="store")
    yield address
    server.stop()


class Clone:
    """A folder in which git and DVC run, with a memory of its own and no way out of the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder.with_suffix(".calls")
        guard = folder.with_suffix(".guard")
        guard.mkdir()
        (guard / "sitecustomize.py").write_text(GUARD)
        switches = ("DVC_NO_ANALYTICS", "DO_NOT_TRACK", "ITERATIVE_DO_NOT_TRACK", "DVC_STUDIO_OFFLINE", "CI")
        self.variables = {key: value for key, value in os.environ.items() if key not in switches} | {
            "PYTHONPATH": str(guard),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "HOME": str(guard),
            "DVC_SITE_CACHE_DIR": str(folder.with_suffix(".site")),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "GIT_AUTHOR_NAME": "test",
            "GIT_AUTHOR_EMAIL": "test@example.org",
            "GIT_COMMITTER_NAME": "test",
            "GIT_COMMITTER_EMAIL": "test@example.org",
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def dvc(self, *words: str) -> str:
        return self.run(sys.executable, "-m", "dvc", *words)

    def called(self) -> list[str]:
        return self.calls.read_text().split() if self.calls.exists() else []


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".gitignore"
    }


@pytest.fixture
def made(tmp_path: Path, root: Path) -> Clone:
    """A project of one stage, with this project's settings of DVC, that has run."""
    clone = Clone(tmp_path / "made")
    (clone.folder / ".dvc").mkdir(parents=True)
    for name in (".dvc/config", ".dvc/.gitignore", ".dvcignore"):
        if (root / name).exists():
            shutil.copy(root / name, clone.folder / name)
    (clone.folder / "dvc.yaml").write_text(STAGES)
    (clone.folder / "make.py").write_text(MAKE)
    clone.run("git", "init", "--quiet")
    clone.dvc("repro", "--quiet")
    return clone


def test_a_fresh_clone_pulls_from_s3_what_another_pushed(made: Clone, s3: str, tmp_path: Path) -> None:
    made.dvc("remote", "add", "--default", "store", "s3://store/radrl")
    made.dvc("remote", "modify", "store", "endpointurl", s3)
    made.dvc("push")
    made.run("git", "add", "--all")
    made.run("git", "commit", "--quiet", "--message", "made")

    fresh = Clone(tmp_path / "fresh")
    fresh.folder.mkdir()
    fresh.run("git", "clone", "--quiet", str(made.folder), ".")
    assert not (fresh.folder / "data" / "corpus").exists()
    fresh.dvc("pull")
    pulled = files(fresh.folder / "data")
    assert pulled == files(made.folder / "data")
    assert sorted(pulled) == ["corpus/deep/part-1", "corpus/part-0", "scores.json"]
    assert "up to date" in fresh.dvc("status")
    assert made.called() == fresh.called() == []


def test_the_guard_sees_calls(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "any")
    clone.folder.mkdir()
    code = "import urllib.request as u\ntry: u.urlopen('http://example.org')\nexcept OSError: pass"
    clone.run(sys.executable, "-c", code)
    assert clone.called() == ["example.org"]

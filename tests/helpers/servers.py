"""Servers on loopback for the length of a test: MLflow's and PostgreSQL's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PATIENCE = 180.0
"""Seconds that a server has to come up; on two busy cores MLflow's takes half a minute."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def mlflow_server(folder: Path, store: str) -> Iterator[str]:
    """MLflow's server with proxied artifacts.

    Args:
        folder: takes the artifacts, in `files`, and the log.
        store: URI of its data base.

    Yields:
        Its address.
    """
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", store, "--serve-artifacts"]
    command += ["--artifacts-destination", str(folder / "files")]
    settings = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    settings.pop("MLFLOW_TRACKING_URI", None)
    with (folder / "mlflow.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=settings, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _await(server, f"{address}/health", folder / "mlflow.log")
            yield address
        finally:
            _end(server)


def _await(server: subprocess.Popen[bytes], page: str, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(page, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"no MLflow server: {log.read_text()[-2000:]}")


def _end(server: subprocess.Popen[bytes]) -> None:
    os.killpg(server.pid, 15)  # its workers too
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, 9)
        server.wait()


def postgres_programs() -> Path | None:
    """Where PostgreSQL's programs are, the newest release of Debian's first; they need not be on the path."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: -float(one.parent.name))
    on_path = shutil.which("initdb")
    return next(
        (one for one in (*places, *([Path(on_path).resolve().parent] if on_path else []))
         if (one / "initdb").is_file() and (one / "postgres").is_file()),
        None,
    )  # fmt: skip


@contextmanager
def postgres(programs: Path) -> Iterator[str]:
    """A cluster of its own, with a password, that ends with the block.

    Args:
        programs: from `postgres_programs`.

    Yields:
        The URI of an empty data base, as SQLAlchemy has it.
    """
    # not pytest's folder: that is closed to the user that PostgreSQL, which refuses root, runs as
    folder = Path(tempfile.mkdtemp(prefix="radrl-postgres-"))
    try:
        (folder / "word").write_text("loopback")
        user = _other_user(folder)
        data, port = folder / "data", free_port()
        _run([*user, str(programs / "initdb"), "--pgdata", str(data), "--username", "radrl", "--auth",
              "scram-sha-256", "--pwfile", str(folder / "word"), "--no-sync"])  # fmt: skip
        control = [*user, str(programs / "pg_ctl"), "--pgdata", str(data), "--wait"]
        where = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        _run([*control, "--log", str(folder / "log"), "--options", where, "start"])
        try:
            yield f"postgresql+psycopg2://radrl:loopback@127.0.0.1:{port}/postgres"
        finally:
            _run([*control, "--mode", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user(folder: Path) -> list[str]:
    """What puts a command under another user where this one is root; the folder becomes that user's."""
    if os.geteuid() != 0:
        return []
    import pwd

    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _run(command: Sequence[str]) -> None:
    # a file, since the server that pg_ctl leaves behind would hold a pipe open
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(command, cwd="/", stdout=said, stderr=said, check=False)
        said.seek(0)
        assert done.returncode == 0, said.read().decode()[-2000:]

"""Shards done by actors of Ray Data: on this machine, or on the cluster that RAY_ADDRESS names.

Ray starts an actor anew when its process dies, and gives it the shard again.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from radrl.mapping.engines import MOST_DEATHS, EngineMissing, Result, Shard, State, Work, died
from radrl.process import importing

CLUSTER: Final = "RAY_ADDRESS"
"""The variable that names a cluster which is running; without it Ray is started on this machine."""

_STORE: Final = 256 * 2**20
"""Bytes of the store of objects on this machine; results are small, what is large is written by workers."""


def mapped(
    work: Work[State, Shard, Result], shards: Sequence[Shard], *, workers: int, device: str
) -> Generator[Result]:
    """Do shards in actors.

    Args:
        work: what is done; its modules and files are there under the same paths on every machine.
        shards: what it is done to.
        workers: actors.
        device: where they compute; elsewhere than on the CPU Ray gives each a GPU.

    Yields:
        Results in order.

    Raises:
        EngineMissing: when Ray is not installed.
        radrl.mapping.engines.WorkerDied: when actors died over the same shard again and again.
        Exception: what the work raises.
    """
    ray = _imported()
    rows = [{"shard": ray.cloudpickle.dumps(shard)} for shard in shards]
    gpus = 0 if device == "cpu" else 1
    with _running(ray, workers=workers, gpus=gpus * workers):
        _prepare_data(ray)
        results = _dataset(ray, work, rows, min(workers, len(shards)), gpus)
        try:
            for row in results.iter_rows():
                yield _unpacked(row)
        except ray.exceptions.RayActorError as error:
            raise died(work, engine="ray") from error


def _dataset(
    ray: Any, work: Work[Any, Any, Any], rows: list[dict[str, bytes]], workers: int, gpus: int
) -> Any:
    """Rows of results, none of which is made yet: each row a task of its own."""
    with warnings.catch_warnings():  # of retries, which Ray 2.64 will want to be told in another way
        warnings.filterwarnings("ignore", message=".*ray_remote_args")
        return ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            Actor,
            fn_constructor_args=(ray.cloudpickle.dumps(work), str(Path.cwd()), sys.path),
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=1,
            num_gpus=gpus,
            max_task_retries=MOST_DEATHS,  # by default for ever, also of a shard that kills its worker
        )


class Actor:
    """A worker, as Ray Data makes and calls it.

    Args:
        work: the work, pickled: it is opened with the first shard, whose errors reach the caller.
        folder: where the stage runs, which its paths are relative to.
        path: where the stage finds modules, parts of a user's own among them.
    """

    def __init__(self, work: bytes, folder: str, path: Sequence[str]) -> None:
        self._open = ExitStack()
        os.chdir(folder)
        sys.path[:] = dict.fromkeys([*path, *sys.path])
        importing.prepare()  # nodes of a cluster do not have the stage's variables
        self._pickled, self._state = work, None
        self._work: Work[Any, Any, Any] | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
        """Do a shard; an error is handed over as a result, since Ray would wrap it in one of its own."""
        from ray import cloudpickle

        try:
            return {"result": cloudpickle.dumps(self._do(cloudpickle.loads(row["shard"])))}
        except Exception as error:
            error.add_note(f"in a worker of Ray:\n{traceback.format_exc()}")
            return {"error": cloudpickle.dumps(error)}

    def _do(self, shard: Any) -> Any:
        from ray import cloudpickle

        if self._work is None:
            work = cloudpickle.loads(self._pickled)
            self._state = self._open.enter_context(work.open())
            self._work = work
        return self._work.do(self._state, shard)

    def __del__(self) -> None:
        self._open.close()


def _unpacked(row: dict[str, Any]) -> Any:
    from ray import cloudpickle

    if row.get("error") is not None:
        raise cloudpickle.loads(row["error"])
    return cloudpickle.loads(row["result"])


def _imported() -> Any:
    """Ray, with its Data and cloudpickle.

    Raises:
        EngineMissing: when it is not installed.
    """
    if not os.environ.get(CLUSTER):
        # read when Ray is imported: without clusters all that it opens is on the loopback interface
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray.cloudpickle
        import ray.data
    except ImportError as error:
        raise EngineMissing(
            "compute.engine is ray, which is not installed here: pip install -c constraints.txt '.[ray]', or "
            "set it to local"
        ) from error
    return ray


@contextmanager
def _running(ray: Any, *, workers: int, gpus: int) -> Iterator[None]:
    """Ray for the time of a block: started on this machine, or a cluster's; who has it running keeps it."""
    if ray.is_initialized():
        yield
        return
    with _own_signals():
        ray.init(**_where(workers, gpus), log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def _prepare_data(ray: Any) -> None:
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False  # the caller has one
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _where(workers: int, gpus: int) -> dict[str, Any]:
    if address := os.environ.get(CLUSTER):
        return {"address": address}
    return {
        "address": "local",
        "num_cpus": workers + 1,  # one for what Ray Data does besides
        "num_gpus": gpus,
        "object_store_memory": _STORE,
        "include_dashboard": False,
    }


@contextmanager
def _own_signals() -> Iterator[None]:
    """A block after which SIGTERM ends this process as before: Ray sets a handler of its own."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)

"""Packages that cannot live in radrl's environment: their worker scripts, run by another interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from radrl.process.isolated.talk import SCRIPTS, Reply, Talk, WorkerError, interpreter
from radrl.process.isolated.talk import SILENCE as SILENCE
from radrl.scoring import ScoringError
from radrl.storage.digests import sha256

WORKERS: Final = SCRIPTS
MEND: Final = "`make scorers` makes the environments of packages that cannot live in this one"


class Worker:
    """A worker script and the interpreter that runs it; a process lasts for one request.

    Args:
        script: the file.
        name: of the family of metrics, for messages.
        python: interpreter of the environment with the package; the running one when nothing.
        timeout: seconds of silence after which the worker counts as hung.
        folder: its working folder, where a model that a package knows by a hub's name is found by that name.
        variables: of its environment, besides the user's own and the offline switches.

    Raises:
        ScoringError: there is no such interpreter.
    """

    def __init__(
        self,
        script: Path,
        *,
        name: str,
        python: Path | None,
        timeout: float = SILENCE,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        try:
            self.python = interpreter(python, name, MEND)
        except WorkerError as error:
            raise ScoringError(str(error)) from error
        self.name, self.timeout = name, timeout
        self._script, self._folder, self._variables = script, folder, dict(variables or {})

    def ask(self, request: Mapping[str, Any], items: int, unit: str) -> Reply:
        """Run the worker over one request.

        Args:
            request: what the script takes, as JSON.
            items: how many answers there must be.
            unit: what an item is, for the progress bar.

        Returns:
            The answers, all of them.

        Raises:
            ScoringError: the worker fails (`radrl.process.isolated.talk.Talk.ask`).
        """
        try:
            with (
                Talk(
                    self.python,
                    self._script,
                    name=self.name,
                    timeout=self.timeout,
                    folder=self._folder,
                    variables=self._variables,
                ) as talk,
                tqdm(total=items, desc=self.name, unit=f" {unit}", mininterval=1) as bar,
            ):
                return talk.ask(request, items, bar=bar)
        except WorkerError as error:
            raise ScoringError(str(error)) from error


def digest_of(files: Iterable[Path]) -> str:
    """One SHA-256 over the names and bytes of several files.

    Args:
        files: in an order that is the same everywhere.

    Returns:
        A hexadecimal digest.
    """
    digest = ""
    for file in files:
        digest = sha256(file, seed=f"{digest}{file.name}".encode())
    return digest

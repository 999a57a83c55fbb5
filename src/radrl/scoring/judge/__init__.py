"""Judges: language models that answer prompts, named by params.yaml, their answers kept on disk.

The file of answers holds digests of prompts and the answers in clear. An answer may quote the report it is
about: the file is patient data, readable by its owner alone, and lies where the user says.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import AfterValidator, Field
from tqdm import tqdm

from radrl.parts.find import find
from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.process.devices import check
from radrl.scoring import ScoringError

_WAIT_SECONDS: Final = 60.0
"""How long a write waits for another process's."""
Check = Callable[[str, str], str | None]
"""From a prompt and a whole answer, why its asker cannot use it; nothing where it can."""


class EndpointSection(Section):
    """A server that speaks OpenAI's protocol; prompts go to `allowed_hosts` and nowhere else."""

    backend: Literal["endpoint"]
    url: str
    model: str
    allowed_hosts: list[str]
    concurrency: PositiveInt
    retries: Annotated[int, Field(ge=0)]
    timeout: PositiveFloat
    max_tokens: PositiveInt
    temperature: Annotated[float, Field(ge=0)]
    seed: int | None
    api_key_env: str | None = None
    extra_body: dict[str, Any] | None = None
    backoff: PositiveFloat = 1.0
    longest_wait: PositiveFloat = 60.0
    cache: LocalPath | None = None


class FolderSection(Section):
    """A language model on this machine."""

    backend: Literal["folder"]
    folder: LocalPath
    chat: Literal["own", "green"]
    batch_size: PositiveInt
    max_new_tokens: PositiveInt
    device: Annotated[str, AfterValidator(check)] = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    cache: LocalPath | None = None


def cache_key(asked: Mapping[str, Any]) -> str:
    """Digest everything that an answer depends on.

    Args:
        asked: backend, model, settings and prompt, as JSON can write them.

    Returns:
        SHA-256, hexadecimal.
    """
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class AnswerCache:
    """Answers by key in one SQLite file; threads and processes may share it, and a kill leaves it whole.

    Args:
        path: the file; made, with its folder, if it is not there.

    Raises:
        ScoringError: when the file is something else or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as error:
            raise ScoringError(f"no cache of answers at {path}: {error.strerror}") from error
        # without isolation_level every statement is a transaction of its own, on disk when it returns
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._broken(error) from error
        self._run(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
        )

    def get(self, key: str) -> str | None:
        """The answer kept under a key, or nothing."""
        rows = self._run("SELECT answer FROM answers WHERE key = ?", key)
        return str(rows[0][0]) if rows else None

    def put(self, key: str, answer: str) -> str:
        """Keep an answer, unless another process was first.

        Args:
            key: of `cache_key`.
            answer: a whole answer.

        Returns:
            What is now kept, and what a later run will read.
        """
        self._run("INSERT OR IGNORE INTO answers VALUES (?, ?)", key, answer)
        kept = self.get(key)
        return answer if kept is None else kept

    def drop(self, key: str) -> None:
        """Forget the answer kept under a key, if there is one."""
        self._run("DELETE FROM answers WHERE key = ?", key)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _run(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _broken(self, error: sqlite3.Error) -> ScoringError:
        return ScoringError(
            f"cache of answers {self._path}: {error}; mend or delete the file, or name another"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer to one prompt.

    Args:
        text: what it wrote; half of it, or nothing, where the answer failed.
        failure: why there is no whole answer; nothing when there is one.
    """

    text: str
    failure: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the judge came to the end of its answer by itself."""
        return self.failure is None


class Judge(Protocol):
    """Answers prompts.

    Attributes:
        name: of the backend and the model.
    """

    name: str

    @property
    def about(self) -> dict[str, str]:
        """What its answers depend on, for the record."""
        ...

    def answer(self, prompts: Sequence[str], *, check: Check | None = None) -> list[Answer]:
        """Answer prompts.

        Args:
            prompts: N prompts, each the whole content of one user's turn.
            check: refuses whole answers; one it refuses has failed and is not kept, so that the next run asks
                again. Nothing to take every whole answer.

        Returns:
            N answers in the same order; a prompt that failed has an answer that says why.

        Raises:
            ScoringError: when no prompt can be answered at all, with the mend.
        """
        ...


Keep = Callable[[str, Answer], Answer]
"""Takes a prompt and its answer; gives back the answer to go on with, which is another's that came first."""


def answer_through_cache(
    prompts: Sequence[str],
    *,
    key: Callable[[str], str],
    cache: AnswerCache | None,
    ask: Callable[[Sequence[str], Keep], Iterable[tuple[str, Answer]]],
    name: str,
    check: Check | None = None,
) -> list[Answer]:
    """Answer prompts, each once, and keep every whole answer as soon as it is there.

    Args:
        prompts: N prompts.
        key: a prompt's key in the cache.
        cache: where answers are looked up and kept; nothing to ask every time.
        ask: gives each of the prompts it is handed with its answer, in any order; hands the answer over to be
            kept before it turns to another prompt, so that a kill loses only what was under way.
        name: what the progress bar on stderr is called.
        check: refuses whole answers, see `Judge.answer`.

    Returns:
        N answers in the order of the prompts.
    """

    def keep(prompt: str, answer: Answer) -> Answer:
        if not answer.finished:
            return answer
        if check is not None and (problem := check(prompt, answer.text)):
            return Answer(answer.text, problem)
        return answer if cache is None else Answer(cache.put(key(prompt), answer.text))

    answers: dict[str, Answer] = {}
    unique = list(dict.fromkeys(prompts))
    if cache is not None:
        for prompt in unique:
            if (text := cache.get(key(prompt))) is None:
                continue
            if check is not None and check(prompt, text):  # kept by a run that checked less
                cache.drop(key(prompt))
            else:
                answers[prompt] = Answer(text)
    if left := [prompt for prompt in unique if prompt not in answers]:
        with tqdm(
            total=len(unique), initial=len(answers), desc=name, unit=" prompts", mininterval=1
        ) as progress:
            for prompt, answer in ask(left, keep):
                answers[prompt] = answer
                progress.update()
    return [answers[prompt] for prompt in prompts]


def build_judge(settings: Mapping[str, Any], *, structured: Mapping[str, Any] | None = None) -> Judge:
    """Build a judge.

    Args:
        settings: `backend`, the name of a judge, and what that takes.
        structured: JSON schema of the answers, for a judge that can be held to one.

    Returns:
        The judge; nothing is sent or loaded yet.

    Raises:
        radrl.parts.find.PartError: for an unknown backend.
        ScoringError: when the judge refuses its settings.
    """
    own = {name: value for name, value in settings.items() if name != "backend"}
    judge: Judge = find("judge", str(settings.get("backend")), key="judge.backend").make(
        own, structured=structured
    )
    return judge

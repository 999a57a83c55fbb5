"""What every judge gives back, and how prompts, cache and model go together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tqdm import tqdm

from radrl.scoring.judge.cache import AnswerCache


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


Check = Callable[[str, str], str | None]
"""From a prompt and a whole answer, why its asker cannot use it; nothing where it can."""


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

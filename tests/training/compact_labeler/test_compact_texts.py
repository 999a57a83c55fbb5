"""What the compact CheXbert learns from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from radrl.labelers import LabelMatrix
from radrl.labelers.chexbert.model import SPECIAL, build_tokenizer
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.training.compact_labeler.texts import MISREAD, Curriculum, Pool, _batches, gather, harder, plan

SETTINGS: dict[str, Any] = {"recombined": 400, "longest": 3, "batch_size": 16, "max_tokens": 48}
FINDINGS = ("pleural effusion", "pneumothorax", "edema", "consolidation", "atelectasis", "cardiomegaly")
REPORTS = [f"There is {found}. No {other}." for found in FINDINGS for other in FINDINGS if found != other]
TEACHER = RulesLabeler()


def course(pool: Pool, seed: int = 0) -> Curriculum:
    words = sorted({word.strip(".,?:/()") for text in pool.sentences for word in text.split()} - {""})
    tokenizer = build_tokenizer([*SPECIAL, ".", *words])
    return Curriculum(REPORTS, pool, TEACHER, tokenizer, SETTINGS, np.random.default_rng(seed))


def gathered(reworded: int = 100) -> Pool:
    return gather(REPORTS, TEACHER, reworded, np.random.default_rng(0))


def test_rewordings_get_half_of_the_draws() -> None:
    pool = gathered()
    own = len(pool.known)
    assert own == 2 * len(FINDINGS)
    assert len(pool.sentences) > own
    assert pool.weights[:own].sum() == pytest.approx(0.5)
    assert pool.weights[own:].sum() == pytest.approx(0.5)
    assert pool.own_weights[:own] == pytest.approx(2 * pool.weights[:own])
    assert not pool.own_weights[own:].any()


def test_misread_rewordings_get_half_of_the_draws_of_rewordings_by_hand() -> None:
    pool = Pool(["a", "b", "c", "d"], np.zeros((4, 14), np.int8), np.array([0.5, 0.1, 0.1, 0.3]), {"a": 0})
    weights = harder(pool, np.array([True, False, False]))
    # rewordings have 0.5 together, the misread one 0.1 of it: 0.25 for that, 0.25 in the ratio 1 to 3
    assert weights.tolist() == pytest.approx([0.5, 0.25, 0.0625, 0.1875])
    for misread in ([False, False, False], [True, True, True], [True, False, True]):
        assert harder(pool, np.array(misread)).tolist() == pool.weights.tolist()
    assert pool.weights.tolist() == [0.5, 0.1, 0.1, 0.3]


def test_between_lessons_the_pupil_is_asked_and_misread_rewordings_come_more_often() -> None:
    pool = gathered()
    known = len(pool.known)
    asked: list[list[str]] = []

    def read(texts: Sequence[str]) -> LabelMatrix:
        """Right but for one of them."""
        asked.append(list(texts))
        labels = TEACHER.label(texts)
        labels[7] = (labels[7] + 1) % 4
        return labels

    numbers = [text.sentences for texts, _ in course(pool).batches(read) for text in texts]
    assert asked == [pool.sentences[known:]] * 2
    drawn = np.array([number for text in numbers for number in text])
    among_new = (drawn == known + 7).sum() / (drawn >= known).sum()
    assert 0.6 * MISREAD < among_new < MISREAD  # not yet in the first lesson


def test_rewordings_come_first_and_the_own_language_last_in_long_texts() -> None:
    lessons = plan(1000, 6, reworded=True)
    assert [lesson.count for lesson in lessons] == [283, 283, 284, 150]
    assert [lesson.longest for lesson in lessons] == [6, 6, 6, 14]
    assert [lesson.own_from for lesson in lessons] == [None, 0.0, 0.0, 0.0]
    assert [lesson.own_language for lesson in lessons] == [False, False, False, True]
    assert [lesson.span[0] for lesson in lessons[1:]] == [lesson.span[1] for lesson in lessons[:-1]]
    pool = gathered()
    taught = course(pool)
    batches = list(taught.batches(TEACHER.label))
    new = [any(max(text.sentences) >= len(pool.known) for text in texts) for texts, _ in batches]
    last = -(-(60 + len(REPORTS)) // SETTINGS["batch_size"])
    assert all(new[-last - 10 : -last])
    assert not any(new[-last:])


@pytest.mark.parametrize("reworded", [0, 100])
def test_steps_are_the_batches_and_labels_those_of_the_teacher(reworded: int) -> None:
    pool = gathered(reworded)
    taught = course(pool)
    batches = list(taught.batches(TEACHER.label))
    assert len(batches) == taught.steps
    count = sum(len(texts) for texts, _ in batches)
    assert count == SETTINGS["recombined"] + (3 if reworded else 1) * len(REPORTS)
    for texts, labels in batches[:: len(batches) // 4]:
        for text, row in zip(texts, labels, strict=True):
            if len(text.ids) < SETTINGS["max_tokens"]:
                (known,) = TEACHER.label([" ".join(pool.sentences[i] for i in text.sentences)])
                assert row.tolist() == known.tolist()


def test_same_seed_same_texts() -> None:
    pool = gathered()
    one, two, other = (
        [text.ids for texts, _ in course(pool, seed).batches(TEACHER.label) for text in texts]
        for seed in (0, 0, 1)
    )
    assert one == two
    assert one != other


def test_batches_are_all_texts_once_short_windows_first() -> None:
    lengths = [3] * 100 + [9] * 50
    batches = list(_batches(lengths, 4, np.random.default_rng(0)))
    assert sorted(i for batch in batches for i in batch) == list(range(150))
    assert max(max(batch) for batch in batches[:20]) < 80  # the first window

"""What is left out of a run's output, and what is not."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline
from kedro.runner import SequentialRunner

from radrl.params.base import ParamsError
from radrl.wiring import quiet


@pytest.fixture
def filtered(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Kedro's loggers with the filters, as a run has them."""
    loggers = [logging.getLogger(name) for name in (quiet.RUNNER, quiet.NODE)]
    before = [own.filters for own in loggers]
    for own in loggers:  # settings may have been imported before
        own.filters = []
    monkeypatch.delenv("RADRL_TRACEBACK", raising=False)
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, logger="kedro.runner"):
        quiet.apply()
        yield
    for own, filters in zip(loggers, before, strict=True):
        own.filters = filters


def runs(function: object) -> None:
    nodes = [
        node(function, None, "first", name="begin"),
        node(lambda first: first, "first", "last", name="end"),
    ]
    SequentialRunner().run(pipeline(nodes), DataCatalog())


def refused(error: Exception) -> object:
    def fail() -> int:
        raise error

    return fail


def test_a_node_has_one_line(filtered: None, caplog: pytest.LogCaptureFixture) -> None:
    runs(lambda: 1)
    assert [line for line in caplog.messages if line.startswith("Completed")] == [
        "Completed 1 out of 2 tasks: begin",
        "Completed 2 out of 2 tasks: end",
    ]


def test_a_mendable_error_is_left_to_the_last_line(filtered: None, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ParamsError):
        runs(refused(ParamsError("params.yaml is not valid")))
    assert caplog.messages == []


def test_another_error_is_said_as_kedro_does(filtered: None, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError):
        runs(refused(KeyError("arms")))
    assert any("failed with error" in line for line in caplog.messages)
    assert any(line.startswith("No nodes ran") for line in caplog.messages)


def test_only_the_names_that_trl_asks_by_are_not_warned_of(filtered: None) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.warn(
            "`gradient_checkpointing` is deprecated and will be removed in v6", FutureWarning, stacklevel=1
        )
        warnings.warn("`something` is deprecated and will be removed in v6", FutureWarning, stacklevel=1)
    assert [str(one.message) for one in told] == ["`something` is deprecated and will be removed in v6"]

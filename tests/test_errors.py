"""What a user sees when something they can mend is wrong."""

from __future__ import annotations

import errno
import logging
import sys
import warnings
from collections.abc import Iterator

import pytest
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import node, pipeline
from kedro.runner import SequentialRunner

from radrl import errors
from radrl.params.messages import ParamsError
from radrl.training.preflight import SettingsError


def said(capsys: pytest.CaptureFixture[str], error: BaseException) -> str:
    errors._hook(type(error), error, error.__traceback__)
    return capsys.readouterr().err


def raised(outer: Exception, inner: Exception) -> Exception:
    try:
        raise outer from inner
    except Exception as error:
        return error


def test_a_mendable_error_is_said_without_a_traceback(capsys):
    assert said(capsys, ParamsError("params.yaml is not valid:\n  x: no such key")) == (
        "\nerror: params.yaml is not valid:\n  x: no such key\n"
    )


def test_a_setting_that_does_not_fit_is_said_without_a_traceback(capsys):
    assert said(capsys, SettingsError("training.bf16 is true")) == "\nerror: training.bf16 is true\n"


def test_the_message_inside_a_dataset_error_is_the_one_said(capsys):
    wrapped = raised(DatasetError("Failed while saving data to dataset"), ParamsError("the real reason"))
    assert said(capsys, wrapped) == "\nerror: the real reason\n"


def test_a_dataset_error_of_its_own_is_said(capsys):
    assert "is not there" in said(capsys, DatasetError("data/x is not there: run the stage that writes it"))


def test_a_missing_artifact_is_said_with_its_path(capsys):
    wrapped = raised(DatasetError("Failed while loading data"), FileNotFoundError("data/reports.parquet"))
    again = "run the stage that writes it again (`dvc dag` shows which), or `dvc checkout` it"
    expected = f"\nerror: Failed while loading data (data/reports.parquet); {again}\n"
    assert said(capsys, wrapped) == expected


@pytest.mark.parametrize(
    ("inner", "mend"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "data/x"), "free some space"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "free some space"),
        (OSError(errno.EROFS, "Read-only file system", "data/x"), "make the file system writable"),
        (PermissionError(errno.EACCES, "Permission denied", "data/x"), "give it back to yourself"),
    ],
)
def test_what_the_disk_refuses_is_said_with_the_mend(capsys, inner, mend):
    wrapped = raised(DatasetError("Failed while saving data to dataset"), inner)
    text = said(capsys, wrapped)
    assert text.startswith(f"\nerror: {inner}; {mend}")
    assert text.endswith("then start again: finished stages are kept\n")


def test_a_message_of_ones_own_stands_before_that_of_the_disk(capsys):
    inner = PermissionError(errno.EACCES, "Permission denied", "reports.csv")
    assert said(capsys, raised(ParamsError("ingest.csv.path"), inner)) == "\nerror: ingest.csv.path\n"


def test_any_other_error_keeps_its_traceback(capsys):
    assert "Traceback" in said(capsys, raised(RuntimeError("a bug"), KeyError("k")))


def test_the_traceback_can_be_had(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setenv("RADRL_TRACEBACK", "1")
    errors.say_plainly()
    assert sys.excepthook is sys.__excepthook__
    monkeypatch.delenv("RADRL_TRACEBACK")
    errors.say_plainly()
    assert sys.excepthook is errors._hook


@pytest.fixture
def filtered(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Kedro's loggers with the filters, as a run has them."""
    loggers = [logging.getLogger(name) for name in (errors.RUNNER, errors.NODE)]
    before = [own.filters for own in loggers]
    for own in loggers:  # settings may have been imported before
        own.filters = []
    monkeypatch.delenv("RADRL_TRACEBACK", raising=False)
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, logger="kedro.runner"):
        errors.quieten()
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

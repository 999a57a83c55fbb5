"""What a user sees when something they can mend is wrong."""

import errno
import sys

import pytest
from kedro.io import DatasetError

from radrl.params.base import ParamsError
from radrl.training.preflight import SettingsError
from radrl.wiring import errors


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

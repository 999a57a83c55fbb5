import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from radrl.commands import main, options
from radrl.commands.main import cli

HEAVY = {"torch", "transformers", "kedro", "mlflow", "dvc", "pandas"}
PROGRAM = [sys.executable, "-m", "radrl.commands"]


def test_version(radrl):
    assert radrl("--version").stdout == f"radrl, version {version('radrl')}\n"


def test_help_names_commands_examples_and_exit_codes(radrl):
    said = radrl("--help").stdout
    for word in ("label", "score", "Examples:", "radrl score outputs.csv", "Exit codes:", "130"):
        assert word in said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("label", ["Examples:", "1 positive, 0 negative, -1", "bad row", "--skip-bad", "standard"]),
        ("score", ["Examples:", "--bootstrap", "memory", "An empty hypothesis", "--list-metrics"]),
    ],
)
def test_commands_explain_themselves(radrl, command, words):
    result = radrl(command, "--help")
    assert result.exit_code == 0
    for word in words:
        assert word in result.stdout


def test_rules_label_without_the_heavy_packages(table):
    path = table([{"report": "No effusion."}], "r.csv")
    code = (
        "import sys\n"
        "from radrl.commands.main import cli\n"
        f"cli.main(['label', {str(path)!r}], standalone_mode=False)\n"
        f"print('heavy:', {HEAVY!r} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "heavy: set()" in done.stdout


def test_offline_switches_are_set_before_anything_is_imported(table):
    code = "import os, radrl.commands.main; print(os.environ['HF_HUB_OFFLINE'])"
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["no-such-command"], 2),
        (["label"], 2),
        (["label", "no-such-file.csv"], 2),
        (["label", "--labeler", "nobody", "x.csv"], 2),
        (["label", "--help"], 0),
    ],
)
def test_exit_codes(radrl, arguments, code):
    assert radrl(*arguments).exit_code == code


class Failing:
    name = "rules"

    def __init__(self, error):
        self.error = error

    def label(self, reports):
        raise self.error


@pytest.fixture
def failing(monkeypatch, table):
    def label(error):
        monkeypatch.setattr("radrl.commands.label.build_labeler", lambda *_: Failing(error))
        return table([{"report": "No effusion."}], "r.csv")

    return label


def test_a_mendable_error_is_said_in_its_own_words(radrl, failing, tmp_path):
    result = radrl("label", failing(ValueError("row 7: mend it")), "-o", tmp_path / "o.csv")
    assert (result.exit_code, result.stderr) == (1, "Error: row 7: mend it\n")
    assert not list(tmp_path.glob("*o.csv*"))


def test_a_bug_says_that_it_is_one_and_how_to_find_it(radrl, failing):
    result = radrl("label", failing(KeyError("k")))
    assert result.exit_code == 1
    assert result.stderr == "Error: KeyError: 'k' (this is a bug: RADRL_TRACEBACK=1 shows where)\n"


def test_the_traceback_can_be_had(radrl, failing, monkeypatch):
    monkeypatch.setenv("RADRL_TRACEBACK", "1")
    assert isinstance(radrl("label", failing(ValueError("here"))).exception, ValueError)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_an_interrupt_ends_with_130_and_leaves_nothing(radrl, failing, tmp_path, format):
    result = radrl("label", failing(KeyboardInterrupt()), "-o", tmp_path / f"o.{format}")
    assert result.exit_code == 130
    assert result.stderr == "\ninterrupted: no file was written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def _as_in_a_terminal():
    """Under nohup, or in a shell's background, a child would ignore what the tests send."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(tmp_path, table):
    """A labelling that has begun to write."""
    rows = [{"report": f"Nodule of {i} mm. No effusion {i}. Mild edema {i}."} for i in range(60_000)]
    path, out = table(rows, "r.csv"), tmp_path / "o.csv"
    process = subprocess.Popen(
        [*PROGRAM, "label", str(path), "-o", str(out)],
        stderr=subprocess.DEVNULL,
        preexec_fn=_as_in_a_terminal,
    )
    for _ in range(600):
        if any(one.stat().st_size for one in tmp_path.glob(".o.csv.*.partial")):
            return process, out
        time.sleep(0.05)
    process.kill()
    raise AssertionError("it never began to write")


def test_a_kill_leaves_no_half_file_under_the_name(tmp_path, table):
    process, out = started(tmp_path, table)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_nothing_at_all(tmp_path, table, number, code):
    process, _ = started(tmp_path, table)
    process.send_signal(number)
    assert process.wait() == code
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_a_hangup_is_ignored_under_nohup(monkeypatch):
    handlers = {}
    monkeypatch.setattr(main.signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(main, "cli", lambda prog_name: sys.exit(0))
    for given, handled in ((signal.SIG_DFL, True), (signal.SIG_IGN, False)):
        monkeypatch.setattr(main.signal, "getsignal", lambda number, given=given: given)
        with pytest.raises(SystemExit):
            main.main()
        assert (signal.SIGHUP in handlers) is handled
        handlers.clear()


def test_a_closed_pipe_is_no_error_message(tmp_path, table):
    path = table([{"report": "No effusion. " * 20}] * 5000, "r.csv")
    process = subprocess.Popen(
        [*PROGRAM, "label", "-q", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


def test_classes_are_those_of_the_observations():
    assert {name: [codes[i] for i in range(4)] for name, codes in options.CLASSES.items()} == {
        "chexpert": [None, 1, 0, -1],
        "chexbert": [0, 1, 2, 3],
        "words": [None, "positive", "negative", "uncertain"],
    }


def test_a_shell_completes_arms_and_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf/recipes").mkdir(parents=True)
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").write_text("arms: {deer: {}, grpo: {}}")
    (tmp_path / "data/06_models/arms/deer").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def completed(*words: str) -> list[str]:
        shell = ShellComplete(cli, {}, "radrl", "_RADRL_COMPLETE")
        return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

    assert completed("report", "film.png", "--arm", "") == ["deer"]
    assert completed("repro", "train@") == ["train@deer", "train@grpo"]
    assert "compare" in completed("repro", "")
    (tmp_path / "params.yaml").write_text("arms: [")
    assert completed("repro", "train") == ["train"]

"""`radrl plan` from the command line."""

import json

import pytest

LAPTOP = "conf/recipes/phantom-laptop.yaml"
DEER = "conf/recipes/deer-mimic_cxr.yaml"
ORAPO = "conf/recipes/orapo-mimic_cxr.yaml"


def test_a_plan_says_films_tokens_memory_and_hours(radrl, root, monkeypatch):
    monkeypatch.chdir(root)
    result = radrl("plan", LAPTOP)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("phantom-laptop: 1.3 M weights (radrl-tiny), 16 image tokens a film")
    assert max(map(len, lines[:40])) <= 120
    assert "…" not in result.stdout
    for word in ("sft", "train@mrg_r1", "generate@sft_think", "measured by bench/grpo_step.py"):
        assert word in result.stdout


def test_what_cannot_fit_ends_with_1_and_the_mend(radrl, root, monkeypatch):
    monkeypatch.chdir(root)
    result = radrl("plan", ORAPO, "--card", "a100", "--memory", "60")
    assert result.exit_code == 1
    assert "cannot be run so" in result.stderr
    assert "set training.optimizer to adamw_8bit" in result.stderr
    assert radrl("plan", ORAPO, "--card", "h200").exit_code == 0


def test_json_has_every_stage_and_where_numbers_are_from(radrl, root, monkeypatch):
    monkeypatch.chdir(root)
    result = radrl("plan", LAPTOP, "--json", "--throughput", "layer_ms=2")
    (plan,) = json.loads(result.stdout)
    assert plan["card"]["layer_ms"] == 2
    assert {"ingest", "sft", "rollouts", "train@grpo", "eval@mrg_r1"} <= {
        own["name"] for own in plan["stages"]
    }
    train = next(own for own in plan["stages"] if own["name"] == "train@grpo")
    assert train["bytes"] == sum(train["moments"][train["fullest"]].values())
    assert train["moments"]["update"]["weights"] == 4 * 1_317_152
    assert train["moments"]["update"]["moments"] == 8 * 1_317_152
    assert set(plan["sources"]) == {"cpu", "stages", "reports"}


def test_several_recipes_give_a_table_a_line_each(radrl, root, monkeypatch, tmp_path):
    monkeypatch.chdir(root)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- radrl plan: begin -->\nold\n<!-- radrl plan: end -->\nafter\n")
    result = radrl("plan", LAPTOP, ORAPO, "--card", "h100", "--devices", "1,8", "--into", page)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    rows = [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| ")][1:]
    assert rows == [
        ["| phantom-laptop", "1 x cpu"],
        ["| orapo-mimic_cxr", "1 x h100"],
        ["| orapo-mimic_cxr", "8 x h100"],
    ]


def test_a_page_without_a_place_is_refused(radrl, root, monkeypatch, tmp_path):
    monkeypatch.chdir(root)
    page = tmp_path / "page.md"
    page.write_text("nothing")
    result = radrl("plan", LAPTOP, "--into", page)
    assert result.exit_code == 1
    assert "has no place for the table" in result.stderr


def test_what_is_asked_wrongly_ends_with_2(radrl, root, monkeypatch):
    monkeypatch.chdir(root)
    for arguments in (
        ["--devices", "none"],
        ["--throughput", "layer_ms"],
        ["--throughput", "speed=1"],
        ["--card", "tpu"],
    ):
        assert radrl("plan", DEER, *arguments).exit_code == 2, arguments


@pytest.mark.parametrize("devices", ["none", "0", "1,0", "-1"])
def test_devices_are_numbers_above_0(radrl, root, monkeypatch, devices):
    monkeypatch.chdir(root)
    said = radrl("plan", DEER, "--devices", devices).stderr
    assert f"{devices!r} is no list of numbers above 0, such as 1,8,64" in said


def test_the_page_is_what_the_command_writes(radrl, root, monkeypatch):
    """docs/scale.md names the command that makes its table."""
    monkeypatch.chdir(root)
    names = [
        path
        for path in sorted(root.glob("conf/recipes/*.yaml"))
        if not path.stem.startswith(("study-", "csv-"))
    ]
    shown = "--card h100 --devices 1,8,64 --workers 0"
    result = radrl("plan", *[path.relative_to(root) for path in names], *shown.split())
    assert shown in (root / "docs/scale.md").read_text()
    assert result.stdout.strip() in (root / "docs/scale.md").read_text()


def test_several_recipes_cannot_be_calibrated(radrl, root, monkeypatch):
    monkeypatch.chdir(root)
    result = radrl("plan", LAPTOP, ORAPO, "--calibrate")
    assert result.exit_code == 2
    assert "--calibrate takes one RECIPE" in result.stderr

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in which one arm has a policy, the shipped base."""
    folder = tmp_path / "project"
    (folder / "conf/recipes").mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "data/06_models/radrl-tiny", folder / "data/06_models/arms/base")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def studies(tmp_path, project):
    """Three studies of noise, whose lateral films are not there."""
    films, entries = tmp_path / "films", {}
    films.mkdir()
    for number in range(3):
        noise = np.random.default_rng(number).integers(0, 256, (130, 120), np.uint8)
        Image.fromarray(noise).save(films / f"{number}.png")
        entries[f"CXR{number}"] = {
            "image_path": ["/absent.png", f"/{number}.png"],
            "key_image_path": f"/{number}.png",
            "frontal_lateral": ["Lateral", "Frontal"],
            "section_findings": "The heart is large. No effusion.",
            "section_impression": float("nan"),
            "subject_id": 100 + number,
        }
    path = tmp_path / "in.json"
    path.write_text(json.dumps(entries))
    return path, tmp_path / "out.json", films


def test_an_arm_writes_what_is_then_scored(radrl, studies, tmp_path, read):
    output = studies[1]
    arm = ("--arm", "base")
    result = radrl("rexrank", *studies, *arm)
    assert result.exit_code == 0, result.output
    assert f"3 reports -> {output}" in result.stderr
    found = json.loads(output.read_text())
    assert list(found) == ["CXR0", "CXR1", "CXR2"]
    assert all(entry["model_prediction"] for entry in found.values())
    assert found["CXR1"]["subject_id"] == 101
    whole = output.read_bytes()
    assert radrl("rexrank", *studies, *arm, "--force").exit_code == 0
    assert output.read_bytes() == whole
    alone = radrl("report", studies[2], "--arm", "base", "-o", "alone.jsonl")
    assert alone.exit_code == 0, alone.output
    reports = [row["report"] for row in read(Path("alone.jsonl"))]
    assert [entry["model_prediction"] for entry in found.values()] == reports

    pairs = tmp_path / "pairs.csv"
    assert radrl("rexrank-pairs", output, pairs).exit_code == 0
    rows = read(pairs)
    assert rows[2] == {
        "study_id": "CXR2",
        "reference": "Findings: The heart is large. No effusion. Impression: None",
        "hypothesis": found["CXR2"]["model_prediction"],
        "patient": "102",
    }
    options = ("--id", "study_id", "--patient", "patient", "--metrics", "ce_rules_micro14_f1", "--json", "-")
    scored = radrl("score", pairs, *options)
    assert scored.exit_code == 0, scored.output
    assert list(json.loads(scored.stdout)["metrics"]) == ["ce_rules_micro14_f1"]


@pytest.fixture
def places(project, studies):
    """The arm's prompt has places, and the studies tell of some."""
    params = project / "params.yaml"
    text = params.read_text()
    text = text.replace(
        "plain: Write the findings of this chest X-ray.",
        'plain: "{indication|Nothing}, {age|unknown}, {prior|none}. Write the findings of this chest X-ray."',
    )
    text = text.replace("  source: phantom ", "  context: [indication, age, prior]\n  source: phantom ", 1)
    params.write_text(text)
    entries = json.loads(studies[0].read_text())
    entries["CXR1"]["context"] = "Age:60.0.Gender:F.Indication: Pneumothorax. Comparison: None."
    entries["CXR2"]["context"] = "Age:61.0.Gender:F.Indication:nanComparison: None."
    studies[0].write_text(json.dumps(entries))


def test_a_prompt_with_places_has_the_studys_context(radrl, studies, places, read, rendered):
    assert radrl("rexrank", *studies, "--arm", "base").exit_code == 0
    found = [entry["model_prediction"] for entry in json.loads(studies[1].read_text()).values()]

    def alone(number, *words):
        result = radrl(
            "report", studies[2] / f"{number}.png", "--arm", "base", *words, "-o", "a.jsonl", "--force"
        )
        assert result.exit_code == 0, result.output
        return read(Path("a.jsonl"))[0]["report"]

    told = ("--indication", "Pneumothorax.", "--age", "60")
    assert found == [alone(0), alone(1, *told), alone(2, "--age", "61")]
    assert [prompt.partition(". Write")[0] for prompt in rendered] == 2 * [
        "Nothing, unknown, none",
        "Pneumothorax., 60, none",
        "Nothing, 61, none",
    ]


def test_what_the_prompt_has_no_place_for_is_refused(radrl, studies):
    result = radrl("report", studies[2], "--arm", "base", "--prior", "No effusion.")
    assert result.exit_code == 1
    assert "the prompt has no place {prior} (it has none), so prior would not be read" in result.output


def test_an_arm_that_has_not_trained(radrl, studies):
    result = radrl("rexrank", *studies, "--arm", "deer")
    assert result.exit_code == 1
    assert "arm deer has no policy" in result.output
    assert "Mend: radrl repro train@deer" in result.output


def test_an_output_that_is_there_is_not_replaced_unasked(radrl, studies):
    studies[1].write_text("{}")
    result = radrl("rexrank", *studies, "--arm", "base")
    assert result.exit_code == 2
    assert "out.json is there; --force replaces it" in result.output
    assert studies[1].read_text() == "{}"


def test_a_film_that_is_not_there_stops_before_the_policy_is_loaded(radrl, studies):
    (studies[2] / "1.png").unlink()
    result = radrl("rexrank", *studies, "--arm", "base")
    assert result.exit_code == 1
    assert "study 'CXR1': /1.png: no such file" in result.output
    assert not list(studies[1].parent.glob("out.json*"))


def test_a_damaged_film_names_its_study_and_leaves_nothing_half(radrl, studies):
    (studies[2] / "1.png").write_bytes(b"\x89PNG\r\n\x1a\nno film")
    result = radrl("rexrank", *studies, "--arm", "base")
    assert result.exit_code == 1
    assert re.search(r"study 'CXR1': .*1\.png: the file is truncated or damaged", result.output)
    assert not studies[1].exists()


def test_pairs_without_predictions_name_the_study(radrl, studies, tmp_path):
    result = radrl("rexrank-pairs", studies[0], tmp_path / "pairs.csv")
    assert result.exit_code == 1
    assert "study 'CXR0': no text under 'model_prediction'" in result.output
    assert not (tmp_path / "pairs.csv").exists()


@pytest.mark.parametrize(
    "given",
    [
        ["in.json", "out.json", "films"],
        ["--input_json_file", "in.json", "--save_json_file", "out.json", "--img_root_dir", "films"],
    ],
)
def test_the_script_of_the_how_to_takes_both_tutorials_arguments(tmp_path, given):
    page = (ROOT / "docs/howto/rexrank.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "inference.py").write_text(script)
    stand = tmp_path / "radrl"
    stand.write_text("#!/bin/sh\necho $@\n")
    stand.chmod(0o755)
    command = [sys.executable, "inference.py", *given]
    found = subprocess.run(
        command, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert found.stdout == "rexrank in.json out.json films --arm deer --device cuda --force\n"
    alone = subprocess.run([*command[:2], "in.json"], cwd=tmp_path, capture_output=True, text=True)
    assert alone.returncode == 2


@pytest.mark.parametrize("file", sorted((ROOT / "conf/rexrank").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_settings_are_valid_and_name_what_lacks(radrl, table, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    pairs = table([{"study_id": "a", "reference": "Clear lungs.", "hypothesis": "Clear."}], "pairs.csv")
    result = radrl("score", pairs, "--settings", file)
    assert result.exit_code == 1
    assert re.search("not in .*weights: .*Mend|no model at weights", result.output)

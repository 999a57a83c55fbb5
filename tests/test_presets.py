"""kedro.yml names pipelines and arms that exist."""

from pathlib import Path

import pytest
import yaml

from radrl.params.schema import read
from radrl.pipeline_registry import register_pipelines
from radrl.pipelines.stages import LAST, ONCE, PER_ARM
from radrl.settings import PARAMS_FILE

PRESETS = yaml.safe_load((Path(__file__).resolve().parents[1] / "kedro.yml").read_text())


def test_the_preset_that_runs_is_one_of_those_named():
    assert PRESETS["run"] in PRESETS["presets"].values()


@pytest.mark.parametrize("name", PRESETS["presets"])
def test_a_preset_names_pipelines_and_arms_that_exist(name):
    preset = PRESETS["presets"][name]
    known = {*ONCE, *PER_ARM, LAST}
    assert set(preset["pipelines"].split(",")) <= known
    assert preset.get("namespaces") in (None, *read(PARAMS_FILE).arms)


def test_the_preset_before_the_arms_makes_all_that_they_train_on():
    stages = register_pipelines()
    chosen = PRESETS["presets"]["prepare"]["pipelines"].split(",")
    made = {name for stage in chosen for name in stages[stage].all_outputs()}
    once = {name for stage in ONCE for name in stages[stage].all_outputs()}
    assert stages["train"].inputs() & once <= made

"""What cannot be is refused, and what would mend that does."""

import pytest

from radrl.plan import report

SMALLER = {"memory_gib": 62.0}
"""A card on which the papers' recipes do not fit."""


def planned(recipes, name, **asked):
    return report.plan(recipes[name], **{"card": "h100", **asked})


def test_every_recipe_can_be_planned(recipes):
    for name, recipe in recipes.items():
        found = report.plan(recipe, card="h100", films=500 if name == "csv-laptop" else None)
        assert found.whole
        assert {"ingest", "label", "policy"} <= {stage.name for stage in found.stages}
        assert all(stage.seconds >= 0 and stage.bytes >= 0 for stage in found.stages)


def test_a_mend_that_is_named_mends(recipes, tmp_path):
    found = planned(recipes, "orapo-mimic_cxr", changed=SMALLER)
    assert {one.mend for one in found.refusals} == {"set compute.frozen_start to host (58.9 GiB)"}
    mended = tmp_path / "mended.yaml"
    mended.write_text(f"{recipes['orapo-mimic_cxr'].read_text()}\ncompute: {{frozen_start: host}}\n")
    again = report.plan(mended, card="h100", changed=SMALLER)
    assert not again.refusals
    assert f"{again.largest.bytes / 2**30:.1f}" == "58.9"


def test_shards_are_the_mend_where_there_are_processes(recipes):
    found = planned(recipes, "orapo-mimic_cxr", devices=8, changed={"memory_gib": 70.0})
    mend = "set compute.config to conf/accelerate/fsdp2.yaml"
    assert all(one.mend.startswith(mend) for one in found.refusals)
    assert not planned(recipes, "orapo-mimic_cxr", devices=8, engine="fsdp2", changed=SMALLER).refusals


def test_a_step_that_processes_cannot_share_is_refused_with_the_numbers_that_can(recipes):
    found = planned(recipes, "orapo-mimic_cxr", devices=64)
    assert not found.whole
    assert found.refusals[0].stage == "train@accuracy"
    assert found.refusals[0].mend == "set training.prompts_per_step to 8, or start 32 processes"


def test_groups_that_are_redrawn_do_not_divide_among_processes(recipes, tmp_path):
    before, after = recipes["deer-mimic_cxr"].read_text().split("\ntraining:")
    recipe = tmp_path / "redraw.yaml"
    own = after.replace("\n", "\n  dynamic_sampling: {mode: redraw, at_most: 2}\n", 1)
    recipe.write_text(f"{before}\ntraining:{own}")
    found = report.plan(recipe, card="h100", devices=8)
    refused = {one.stage: one.mend for one in found.refusals}
    assert refused["train@deer"] == "set training.dynamic_sampling.mode to drop, or start 1 process"
    alone = report.plan(recipe, card="h100")
    assert "train@deer" in {own.name for own in alone.stages}
    assert not [one for one in alone.refusals if "dynamic_sampling" in one.mend]


def test_batches_are_made_smaller_where_that_is_enough(recipes):
    found = planned(recipes, "deer-mimic_cxr", memory=9.0)
    mends = {one.stage: one.mend for one in found.refusals}
    assert mends["rollouts"].startswith("take devices with more memory")
    found = planned(recipes, "deer-mimic_cxr", memory=12.0)
    mends = {one.stage: one.mend for one in found.refusals}
    assert mends["rollouts"].startswith("set rollouts.batch_size to 8 ")


def with_vllm(recipes, tmp_path, share=0.9, draws="hf"):
    text = recipes["deer-mimic_cxr"].read_text().replace("engine: hf", "engine: vllm")
    text = text.replace(
        "engine: vllm                 # who draws", f"engine: {draws}                 # who draws"
    )
    recipe = tmp_path / "vllm.yaml"
    recipe.write_text(f"{text}\ncompute: {{vllm: {{gpu_memory: {share}}}}}\n")
    return recipe


def of(plan, name):
    return next(stage for stage in plan.stages if stage.name == name)


def test_workers_share_the_films_of_stages_without_a_common_step(recipes):
    one, eight = (planned(recipes, "deer-mimic_cxr", devices=8, workers=count) for count in (1, 0))
    for name in ("label", "rollouts", "ddsampling", "generate@deer", "eval@deer"):
        before, after = of(one, name), of(eight, name)
        assert (before.processes, after.processes) == (1, 8)
        assert 7.2 < before.seconds / after.seconds <= 8  # the last batches of a share are not full
        assert after.bytes == before.bytes
    assert of(one, "sft").seconds == of(eight, "sft").seconds


def test_vllm_writes_more_reports_at_once_and_takes_its_share_of_a_device(recipes, tmp_path):
    hf, vllm = (
        report.plan(recipe, card="h100", changed={"layer_ms": 0.7})
        for recipe in (recipes["deer-mimic_cxr"], with_vllm(recipes, tmp_path))
    )
    assert of(vllm, "rollouts").seconds < of(hf, "rollouts").seconds
    assert of(vllm, "rollouts").bytes == int(0.9 * 78 * 2**30)
    assert of(vllm, "train@deer").seconds == of(hf, "train@deer").seconds


def test_a_share_without_room_for_a_report_is_refused_with_the_one_that_has(recipes, tmp_path):
    found = report.plan(with_vllm(recipes, tmp_path, share=0.05), card="h100")
    refused = next(one for one in found.refusals if one.stage == "rollouts")
    assert refused.why.startswith("compute.vllm.gpu_memory is 0.05, 3.9 GiB of a h100")
    assert refused.mend == "set compute.vllm.gpu_memory to 0.09 or more"
    again = report.plan(with_vllm(recipes, tmp_path, share=0.09), card="h100")
    assert "rollouts" in {stage.name for stage in again.stages}


def test_a_training_has_vllm_beside_it(recipes, tmp_path):
    hf, vllm = (
        report.plan(with_vllm(recipes, tmp_path, draws=draws), card="h200") for draws in ("hf", "vllm")
    )
    before, after = of(hf, "train@deer"), of(vllm, "train@deer")
    assert after.bytes - before.bytes == pytest.approx(0.9 * 139 * 2**30, rel=0.01)
    assert "train@deer" not in {one.stage for one in hf.refusals}
    mends = {one.stage: one.mend for one in vllm.refusals}
    assert mends["train@deer"].startswith("set training.engine to hf, or compute.vllm.gpu_memory lower (")


def test_a_training_has_the_copy_that_writes_beside_it(recipes, tmp_path):
    own, copied = (
        report.plan(with_vllm(recipes, tmp_path, draws=draws), card="h200") for draws in ("hf", "hf_bfloat16")
    )
    before, after = of(own, "train@deer"), of(copied, "train@deer")
    kept = 2 * before.moments["generation"]["cache"]
    assert after.bytes - before.bytes == pytest.approx(2 * 3.75e9 + kept, rel=0.01)  # of Qwen2.5-VL-3B
    assert after.seconds == pytest.approx(before.seconds)  # under autocast its own loop reads bfloat16 too


def test_refusals_that_are_alike_are_one_line(recipes):
    (line,) = report.refusals_in_words(planned(recipes, "deer-mimic_cxr", changed=SMALLER).refusals)
    assert line.startswith("train@grpo and 9 more: update takes 66.1 GiB a device, h100 has 59.0")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"shape": "gpt"}, "--shape: 'gpt' is no shape"),
        ({"card": "tpu"}, "'tpu' is no card"),
        ({"changed": {"speed": 1.0}}, "'speed' is no throughput"),
    ],
)
def test_what_nobody_knows_is_said(asked, said, recipes):
    with pytest.raises(report.Unknown, match=said):
        planned(recipes, "deer-mimic_cxr", **asked)


def test_a_table_of_ones_own_asks_for_its_films(recipes):
    with pytest.raises(report.Unknown, match="--films N"):
        report.plan(recipes["csv-laptop"])


def test_a_policy_that_is_nowhere_asks_for_its_shape(recipes, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(recipes["deer-mimic_cxr"].read_text().replace("Qwen2.5-VL-3B-Instruct", "mine"))
    with pytest.raises(report.Unknown, match=r"weights/mine is not on this machine.*--policy.*--shape"):
        report.plan(other, card="h100")
    assert report.plan(other, card="h100", shape="qwen3-vl-2b").weights == 2_127_532_032

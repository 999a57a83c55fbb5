"""Weights, counted without any."""

from math import prod

import pytest
import torch
import yaml
from safetensors import safe_open

from radrl.plan import shapes
from radrl.policy import folder
from radrl.training import tuning

LORA = {
    "rank": 16,
    "alpha": 32,
    "dropout": 0.0,
    "targets": ["model.language_model.layers.*.self_attn.*_proj", "model.visual.blocks.*.mlp.*_proj"],
}


@pytest.fixture
def policy(root):
    """The shipped policy with its numbers."""
    return folder.load(root / "data/06_models/radrl-tiny").model


def test_the_shipped_policy_has_as_many_as_its_file(model, root):
    with safe_open(root / "data/06_models/radrl-tiny/model.safetensors", "np") as file:
        stored = sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    assert shapes.count(model, "full").weights.all == stored == 1_317_152


@pytest.mark.parametrize(
    ("name", "weights"),
    [("qwen2.5-vl-3b", 3_754_622_976), ("qwen2.5-vl-7b", 8_292_166_656), ("qwen3-vl-2b", 2_127_532_032)],
)
def test_published_shapes_have_as_many_as_their_owners_say(name, weights):
    assert shapes.count(shapes.model(shapes.published(name)), None).weights.all == weights


@pytest.mark.parametrize("tunes", ["full", "vision", "language", "lora"])
def test_what_trains_is_what_the_training_lets_train(tunes, model, policy):
    prepared = tuning.prepare(policy, tunes, LORA)
    trained = sum(weight.numel() for weight in prepared.parameters() if weight.requires_grad)
    found = shapes.count(model, tunes, LORA).weights
    assert found.trained == trained
    assert found.frozen == sum(weight.numel() for weight in prepared.parameters()) - trained


def test_the_laptop_policy_is_counted_from_its_section(root, shipped, model):
    section = yaml.safe_load((root / "params.yaml").read_text())["policy"]["tiny"]
    own = shapes.shape_of_config("tiny", shapes.tiny(section, 112))
    assert own.sizes == shipped.sizes
    assert shapes.count(shapes.model(own), "full") == shapes.count(model, "full")


def test_nothing_is_allocated():
    model = shapes.model(shapes.published("qwen2.5-vl-7b"))
    assert {weight.device for weight in model.parameters()} == {torch.device("meta")}


def test_a_prompt_has_the_tokens_that_the_policy_is_given(shipped, root):
    import numpy as np
    from PIL import Image

    from radrl.policy.encoding import encode_prompts

    processor = folder.load(root / "data/06_models/radrl-tiny").processor
    film = Image.fromarray(np.zeros((112, 112, 3), np.uint8))
    given = encode_prompts(processor, [[film, film]], ["Write the findings."])["input_ids"]
    assert shapes.prompt_tokens(shipped, "Write the findings.", 2, 16) == given.shape[1]


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"'gpt-5' is no shape; there are qwen2\.5-vl-3b, "):
        shapes.published("gpt-5")
    with pytest.raises(ValueError, match="model_type 'llava' is none of qwen2_5_vl, qwen3_vl"):
        shapes.shape_of_config("x", {"model_type": "llava"})

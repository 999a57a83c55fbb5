"""Which layers globs hit, and that these and no others get adapters."""

from __future__ import annotations

import logging

import pytest
from peft.tuners.lora import LoraLayer

from radrl.policy.folder import Policy
from radrl.training import tuning
from radrl.training.adapters import HEAD, PARTS, by_part, chosen, linear_layers

LANGUAGE = "model.language_model.layers.*"
BOTH = [f"{LANGUAGE}.self_attn.*_proj", f"{LANGUAGE}.mlp.*_proj", "model.visual.blocks.*"]


def adapted(policy: Policy, targets: list[str]) -> set[str]:
    model = tuning.prepare(
        policy.model, "lora", {"rank": 2, "alpha": 4, "dropout": 0.0, "targets": targets}
    ).get_base_model()
    return {name for name, module in model.named_modules() if isinstance(module, LoraLayer)}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_has_layers_of_its_own(policy: Policy, part: str) -> None:
    layers = linear_layers(policy.model)
    hit = chosen(layers, [PARTS[part]])
    assert hit
    assert by_part(hit) == {name: len(hit) if name == part else 0 for name in PARTS}


def test_parts_are_all_layers_but_the_head(policy: Policy) -> None:
    layers = linear_layers(policy.model)
    assert sum(by_part(layers).values()) == len(layers)
    assert HEAD not in layers


@pytest.mark.parametrize(
    "targets", [BOTH, BOTH[:1], ["model.visual.blocks.1.attn.qkv"], ["*"], [PARTS["projector"]]]
)
def test_adapters_go_to_the_chosen_layers_and_to_no_other(policy: Policy, targets: list[str]) -> None:
    expected = set(chosen(linear_layers(policy.model), targets))
    assert adapted(policy, targets) == expected


def test_how_many_layers_of_each_part_are_adapted_is_said(
    policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=tuning.__name__):
        adapted(policy, BOTH)
    assert caplog.messages == [
        "adapters on 24 linear layers: 8 of language attention, 6 of language MLP, 4 of vision attention, "
        "6 of vision MLP, 0 of projector"
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "up_proj",
            "'up_proj' is the end of a path; targets are globs over whole paths: write "
            "'model.language_model.layers.*.mlp.up_proj' or 'model.visual.blocks.*.mlp.up_proj'",
        ),
        ("attn.qkv", "'attn.qkv' is the end of a path; .* write 'model.visual.blocks.*.attn.qkv'"),
        (
            f"{LANGUAGE}.self_attn.v_porj",
            f"hits no linear layer .* did you mean '{LANGUAGE}.self_attn.v_proj'",
        ),
        (f"{LANGUAGE}.self_attn", f"hits no linear layer .* did you mean '{LANGUAGE}.self_attn"),
        (
            "query",
            "'query' hits no linear layer of the policy. Its layers: model.language_model.layers.*.mlp.down",
        ),
        (HEAD, "'lm_head' hits no linear layer of the policy"),
    ],
)
def test_glob_that_hits_nothing_is_named_with_the_nearest_paths(
    policy: Policy, target: str, message: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is what is tested
        chosen(linear_layers(policy.model), [*BOTH, target])
    begin, _, end = message.partition(" .* ")
    assert begin in str(caught.value)
    assert end in str(caught.value)

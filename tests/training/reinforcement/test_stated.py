"""What no key of params.yaml changes of TRL's settings, and the papers' loss hangs on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_arms import TRAINING

from radrl.training.reinforcement import grpo

REWARD: Any = SimpleNamespace(weights=lambda share: [1.0])

STATED: dict[str, Any] = {
    # rollouts are drawn from the policy's own distribution
    "top_k": 0,
    "min_p": None,
    "repetition_penalty": 1.0,
    "use_vllm": False,
    # advantages are ours, and nothing scales them again
    "scale_rewards": "none",
    "importance_sampling_level": "token",
    "delta": None,
    "entropy_coef": 0.0,
    "top_entropy_quantile": 1.0,
    "off_policy_mask_threshold": None,
    # the KL term is k3, to a start that stays
    "use_bias_correction_kl": False,
    "sync_ref_model": False,
    "adam_epsilon": 1e-8,
    # a number that is none is seen as it comes, and nothing leaves the machine
    "logging_nan_inf_filter": False,
    "logging_steps": 1,
    "log_completions": False,
    "push_to_hub": False,
    "save_total_limit": 2,
    "shuffle_dataset": True,
    "remove_unused_columns": False,
    "dataloader_num_workers": 0,
}


@pytest.mark.parametrize("name", STATED)
def test_setting_is_as_stated(tmp_path: Path, name: str) -> None:
    assert getattr(grpo._arguments(TRAINING, REWARD, 5, tmp_path), name) == STATED[name]

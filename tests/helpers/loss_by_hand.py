"""Two reports of three tokens whose loss is worked out by hand, and a trainer that has a loss alone."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import torch
from accelerate import Accelerator

from radrl.training.reinforcement.trainer import ReportGRPOTrainer

LOG_PROBABILITIES = torch.tensor([[-1.0, -2.0], [-0.5, 0.0]])
RATIOS = torch.tensor([[2.0, 0.5], [3.0, 1.0]])  # of the policy to the one that drew
ADVANTAGES = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
MASK = torch.tensor([[1, 1], [1, 0]])
ENTROPIES = torch.tensor([[0.1, 0.9], [0.5, 0.0]])


class Bare(ReportGRPOTrainer):
    """What the loss asks of a trainer, without a model."""

    def __init__(self, args: Any) -> None:
        self.args, self.accelerator = args, Accelerator(cpu=True)
        self.model = SimpleNamespace(training=True)
        self._metrics = {"train": defaultdict(list)}
        self.loss_type, self.importance_sampling_level = args.loss_type, args.importance_sampling_level
        self.epsilon_low, self.epsilon_high = args.epsilon, args.epsilon_high
        self.top_entropy_quantile, self.entropy_coef = args.top_entropy_quantile, args.entropy_coef
        self.use_adaptive_entropy = args.use_adaptive_entropy
        self._entropy_bonus_enabled = bool(args.entropy_coef or args.use_adaptive_entropy)
        self._last_world_entropy, self._entropy_window_stats = 0.0, None
        self.beta, self.off_policy_mask_threshold, self.use_vllm = 0.0, None, False
        self.aux_loss_enabled, self.max_completion_length = False, 4
        self.current_gradient_accumulation_steps = 1

    def _get_per_token_logps_and_entropies(self, *_: Any, **__: Any) -> Any:
        return LOG_PROBABILITIES, ENTROPIES, None

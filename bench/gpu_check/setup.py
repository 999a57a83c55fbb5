"""What all parts are given: a shape with random weights, films, reports and settings."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import grpo_step
import torch
from grpo_steps import measure, policies
from PIL import Image

from radrl.policy import folder
from radrl.policy.encoding import encode_prompts
from radrl.policy.folder import Policy

MIDDLE: Final[dict[str, Any]] = {
    "text": policies.REAL["text"]
    | {
        "hidden_size": 1024,
        "intermediate_size": 2752,
        "num_hidden_layers": 4,
        "vocab_size": 1500,
        "rope_parameters": {**policies.REAL["text"]["rope_parameters"], "mrope_section": [8, 12, 12]},
    },
    "vision": policies.REAL["vision"]
    | {
        "depth": 4,
        "hidden_size": 640,
        "intermediate_size": 1710,
        "out_hidden_size": 1024,
        "fullatt_block_indexes": [3],
    },
}
"""Half as wide and a ninth as deep, for trainings whose checkpoints are written again and again."""


@dataclass(frozen=True)
class Setup:
    """What parts measure on.

    Args:
        twin: a few narrow layers on the CPU, in place of the real shape on the GPU.
        work: folder where policies lie from part to part.
    """

    twin: bool
    work: Path

    @property
    def device(self) -> torch.device:
        """Where models compute."""
        return torch.device("cpu") if self.twin else torch.device("cuda", 0)

    @property
    def dtype(self) -> str:
        """Of weights that do not train, and of a policy that only writes."""
        return "float32" if self.twin else "bfloat16"

    @property
    def size(self) -> int:
        """Of films, in pixels."""
        return 112 if self.twin else 448

    @property
    def tokens(self) -> int:
        """Of a report."""
        return 12 if self.twin else 120

    @property
    def rows(self) -> int:
        """Rollouts of a step."""
        return 16 if self.twin else 64

    @cached_property
    def params(self) -> dict[str, Any]:
        """DEER's recipe, with a reward by rules, which needs neither weights nor packages."""
        params = grpo_step.paper("deer", whole=not self.twin)
        reward = {"ce_f1": params["arms"]["grpo"]["reward"]["ce_f1"]}
        return {**params, "arms": {"grpo": {"reward": reward}}}

    @cached_property
    def texts(self) -> list[str]:
        """Reports of the drawn corpus."""
        return [record.findings for record in policies.records(policies.WINDOW)]

    @property
    def prompt(self) -> str:
        """The instruction."""
        said: str = self.params["prompts"]["plain"]
        return said

    def start(self, name: str = "whole") -> Path:
        """A policy's folder, written by the first part that asks for it.

        Args:
            name: ``whole``, the real shape, or ``middle``, `MIDDLE`; both the twin's shape on a CPU.
        """
        shape: Mapping[str, Any] = policies.REAL if name == "whole" else MIDDLE
        target = self.work / name
        if not target.is_dir():
            partial = self.work / f".{name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            measure.build(
                policies.twin(2) if self.twin else shape,
                self.texts,
                partial,
                device=str(self.device),
                dtype=self.dtype if name == "whole" else "float32",
            )
            partial.rename(target)
        return target

    def load(self, name: str = "whole", dtype: str | None = None) -> Policy:
        """A policy as radrl loads it, for films of `size`, on the device."""
        policy = folder.load(self.start(name), dtype=dtype or self.dtype, device=self.device)
        policy.processor.image_processor.size = {
            "shortest_edge": self.size**2,
            "longest_edge": self.size**2,
        }
        return policy

    def prompts(self, policy: Policy, films: int) -> dict[str, torch.Tensor]:
        """The processor's tensors of prompts on drawn films, on the device."""
        drawn = policies.records(self.size, films)
        pictures = [[Image.fromarray(own.image()).convert("RGB")] for own in drawn]
        asked = encode_prompts(policy.processor, pictures, [self.prompt] * len(pictures))
        return {name: own.to(self.device) for name, own in asked.items()}

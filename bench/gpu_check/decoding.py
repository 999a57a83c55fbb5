"""What a token costs by transformers' generate and by radrl's loop, reports of one length."""

from __future__ import annotations

from typing import Any, Final

import torch
from decoding import rows

from gpu_check.exactness import write_on_rows
from gpu_check.memory import writing_planned
from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.plan import calibration

WAYS: Final = {"radrl": write_on_rows, "transformers": rows}


def measure(setup: Setup, keep: Keep) -> None:
    """Seconds, tokens a second and memory of a step's rollouts, by group and way."""
    policy = setup.load()
    found: list[dict[str, Any]] = []
    for group in (8, 16):
        films = setup.rows // group
        inputs = setup.prompts(policy, films)
        owners = torch.arange(films, device=setup.device).repeat_interleave(group)
        how = {
            "do_sample": True,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "num_beams": 1,
            "repetition_penalty": 1.0,
            "max_new_tokens": setup.tokens,
            "min_new_tokens": setup.tokens,
        }
        for name, way in WAYS.items():
            if not setup.twin:
                torch.cuda.reset_peak_memory_stats()
            torch.manual_seed(0)
            seconds = calibration.timed(
                lambda way=way, own=(policy.model, inputs, owners, how): way(*own),  # type: ignore[misc]
                setup.device,
                0.0,
                least=2,
            )
            own = {"group": group, "way": name, "seconds": seconds, "tokens": setup.rows * setup.tokens}
            if not setup.twin:
                own["memory"] = torch.cuda.max_memory_allocated()
                if name == "radrl":
                    own["planned"] = writing_planned(setup, films, inputs["input_ids"].shape[1])
            found.append(own)
            keep({"rows": found})

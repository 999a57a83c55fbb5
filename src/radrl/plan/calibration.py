"""What this machine's device can do, measured in about two minutes, in place of what is assumed.

    matrix peak  the fastest of some square products, which nothing but shares of it is made of
    forward      2 operations a weight and token over the time of a forward pass without gradients
    training     6 over that of a forward and a backward pass, of float32 weights
    bandwidth    bytes read and written by a copy, over its time
    layer_ms     what a written token takes, less the reading of its weights, a layer
    texts        reports a second through a network of bert-base's size, of 75 tokens each (12.8 GFLOP)

The model is the policy's own with random weights and at most `DEPTHS` layers, as wide as it is: throughputs
are of a weight or a layer, so a few layers say them. Attention's own products are not counted, as in
`radrl.plan.hours`, nor is the head, of whose logits the last alone are asked for. An accelerator computes in
bfloat16, a CPU in float32, as the recipes do. What is not measured (links between devices, vLLM) stays as
throughputs.yml has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

DEPTHS: Final = (4, 8)
"""Layers of the models: a deep policy's layer is what the second takes more than the first."""
SECONDS: Final = 10.0
"""For each number, once what it is measured on is there and warm."""
BERT_TOKENS: Final = 75
"""Of a report: 2 operations, 85 M weights."""
SOURCE: Final = "measured on this machine by radrl plan --calibrate"


def calibrated(config: Any, device: str, seconds: float = SECONDS) -> dict[str, float]:
    """Measure a device.

    Args:
        config: of the policy, transformers'.
        device: as params.yaml's `device`.
        seconds: for each number.

    Returns:
        By key of throughputs.yml what was measured: forward and training in TFLOP/s, bandwidth in TB/s,
        layer_ms, texts.

    Raises:
        radrl.process.devices.DeviceError: when there is no such device.
    """
    from radrl.process.devices import place

    where = place(device)
    speed = bandwidth(where, seconds)
    return {
        "forward": forward(config, where, seconds) / 1e12,
        "training": training(config, where, seconds) / 1e12,
        "bandwidth": speed / 1e12,
        "layer_ms": layer_ms(config, where, speed, seconds),
        "texts": texts(where, seconds),
    }


def timed(work: Callable[[], Any], device: torch.device, seconds: float, *, least: int = 3) -> float:
    """The median time of a piece of work, in seconds, after once to warm up.

    Args:
        work: what is timed.
        device: what it must have finished.
        seconds: after which no further turn begins.
        least: turns, whatever they take.
    """
    import torch

    def turn() -> float:
        began = time.perf_counter()
        work()
        if device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter() - began

    turn()
    taken = [turn() for _ in range(least)]
    while sum(taken) < seconds and len(taken) < 1000:
        taken.append(turn())
    return median(taken)


def bandwidth(device: torch.device, seconds: float = SECONDS) -> float:
    """Bytes a second that a copy reads and writes."""
    import torch

    count = 2**26 if device.type == "cpu" else 2**30
    source = torch.ones(count, device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * count / timed(lambda: target.copy_(source), device, seconds)


def forward(config: Any, device: torch.device, seconds: float = SECONDS) -> float:
    """Operations a second of a forward pass without gradients."""
    import torch

    model = shallow(config, DEPTHS[0], device, _dtype(device))
    ids = _ids(config, device)
    with torch.no_grad():
        taken = timed(lambda: model(input_ids=ids, use_cache=False, logits_to_keep=1), device, seconds)
    return 2.0 * weights(model) * ids.numel() / taken


def training(config: Any, device: torch.device, seconds: float = SECONDS) -> float:
    """Operations a second of a forward and a backward pass, all weights float32 and learning."""
    import torch

    model = shallow(config, DEPTHS[0], device, torch.float32).train()
    ids = _ids(config, device)

    def work() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu"):
            read = model.model.language_model(input_ids=ids, use_cache=False)
        read.last_hidden_state.float().mean().backward()
        model.zero_grad()

    return 6 * weights(model) * ids.numel() / timed(work, device, seconds)


def layer_ms(config: Any, device: torch.device, speed: float, seconds: float = SECONDS) -> float:
    """Milliseconds a layer and written token beside the reading of weights.

    Args:
        config: of the policy.
        device: where.
        speed: of memory, in bytes a second.
        seconds: for both models.
    """
    layers = config.get_text_config().num_hidden_layers
    depths = DEPTHS if layers > DEPTHS[-1] else (layers,)
    taken, read, bytes_of = [], [], _dtype(device).itemsize
    for depth in depths:
        model = shallow(config, depth, device, _dtype(device))
        taken.append(_a_token(model, device, seconds / len(depths)))
        head = 0 if len(depths) > 1 else model.lm_head.weight.numel()
        read.append(bytes_of * (weights(model) + head))
    if len(depths) > 1:
        own, bytes_read, layers = taken[1] - taken[0], read[1] - read[0], depths[1] - depths[0]
    else:
        own, bytes_read, layers = taken[0], read[0], depths[0]
    # what is left of a measurement's own scatter is no time
    return max(float(1000 * (own - bytes_read / speed) / layers), 0.0)


def _a_token(model: Any, device: torch.device, seconds: float, rows: int = 8, tokens: int = 33) -> float:
    """Seconds a token that eight rollouts of a prompt are written by, its reading left out."""
    import torch

    from radrl.policy import families
    from radrl.policy.shared_prefill import write_on

    config = model.config
    families.family_of_model(model).ready(model)
    ids = _ids(config, device)[:1, :64]
    prompt = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    kinds = families.family_of_model(model).kinds
    prompt[kinds] = torch.zeros_like(ids)
    owners = torch.zeros(rows, dtype=torch.long, device=device)
    # no token is that one, so no report ends
    end = config.get_text_config().vocab_size
    how: dict[str, Any] = {"do_sample": False, "num_beams": 1, "eos_token_id": end, "pad_token_id": 0}

    def writing(length: int) -> float:
        return timed(
            lambda: write_on(model, prompt, owners, max_new_tokens=length, **how), device, seconds / 2
        )

    return (writing(tokens) - writing(1)) / (tokens - 1)


def texts(device: torch.device, seconds: float = SECONDS) -> float:
    """Reports a second that a network of bert-base's size reads, random weights in float32."""
    import torch
    from transformers import BertConfig, BertModel

    with torch.device(device):
        model = BertModel(BertConfig()).eval()
    count = 4 if device.type == "cpu" else 64
    ids = torch.ones(count, BERT_TOKENS, dtype=torch.long, device=device)
    with torch.no_grad():
        return count / timed(lambda: model(input_ids=ids), device, seconds)


def weights(model: Any) -> int:
    """Of the language model's layers."""
    return sum(weight.numel() for weight in model.model.language_model.layers.parameters())


def shallow(config: Any, depth: int, device: torch.device, dtype: torch.dtype) -> Any:
    """A policy of random weights, as wide as one and at most so deep, with a vision tower of one layer."""
    import torch
    from transformers import AutoModelForImageTextToText

    own = deepcopy(config)
    text, seen = own.get_text_config(), own.vision_config
    text.num_hidden_layers = min(depth, text.num_hidden_layers)
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[: text.num_hidden_layers]
    for name, value in {"depth": 1, "num_hidden_layers": 1, "fullatt_block_indexes": [0]}.items():
        if hasattr(seen, name):
            setattr(seen, name, value)
    if hasattr(seen, "deepstack_visual_indexes"):
        seen.deepstack_visual_indexes = [0]
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(0)
        return AutoModelForImageTextToText.from_config(own, dtype=dtype).eval()


def _dtype(device: torch.device) -> torch.dtype:
    import torch

    return torch.float32 if device.type == "cpu" else torch.bfloat16


def _ids(config: Any, device: torch.device) -> torch.Tensor:
    """Sequences of words: eight of 128 on a CPU, sixteen of 512 elsewhere."""
    import torch

    shape = (8, 128) if device.type == "cpu" else (16, 512)
    numbers = torch.arange(shape[0] * shape[1], device=device).reshape(shape)
    return numbers % 97 + 100  # behind every policy's special tokens

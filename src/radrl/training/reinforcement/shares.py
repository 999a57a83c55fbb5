"""What processes that share a step need of one another, so that together they are as one.

A process has consecutive rollouts of the step's: the first one those that come first. Which numbers a rollout
is drawn by, and which rollouts its credit is compared with, must not follow from how the step is shared; and
where the weights are parted, each process has to ask for as many forward passes as the others.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, gather_object

from radrl.credit.base import Credit, Rollouts, TokenWeights
from radrl.policy.token_draws import precision
from radrl.training.reinforcement.shared_forward import Texts


def numbers(accelerator: Accelerator, rows: int, tokens: int) -> torch.Tensor | None:
    """The numbers that a process' rollouts are drawn by: its part of what one process would draw for all.

    Args:
        accelerator: the trainer's.
        rows: rollouts of this process, as many as of each other.
        tokens: that a rollout may have.

    Returns:
        At least 0 and below 1, shape (rows, tokens); nothing where one process draws for itself.
    """
    if accelerator.num_processes == 1:
        return None
    device, shape = accelerator.device, (accelerator.num_processes * rows, tokens)
    if accelerator.is_main_process:  # whose generator a checkpoint keeps
        drawn = torch.rand(shape, dtype=precision(device), device=device)
    else:
        drawn = torch.empty(shape, dtype=precision(device), device=device)
    first = accelerator.process_index * rows
    own: torch.Tensor = broadcast(drawn)[first : first + rows]
    return own


def evened(accelerator: Accelerator, texts: Texts, size: int) -> Texts:
    """Texts that take as many forward passes in each process, where these gather the weights for each pass.

    A process that asks for fewer would leave the others waiting.

    Args:
        accelerator: the trainer's.
        texts: N of this process.
        size: texts of a pass.

    Returns:
        The texts, the last of them repeated until there are as many passes as in any process.
    """
    if not accelerator.is_fsdp2:
        return texts
    count = torch.tensor([-(-len(texts.rows) // size)], device=accelerator.device)
    most = int(accelerator.gather(count).max())
    short = (most - 1) * size + 1 - len(texts.rows)
    if short <= 0:
        return texts
    last = torch.arange(len(texts.rows) + short, device=texts.rows.device).clamp(max=len(texts.rows) - 1)
    return Texts(texts.rows[last], texts.ids[last], texts.mask[last])


def weigh(accelerator: Accelerator, credit: Credit, own: Rollouts) -> TokenWeights | None:
    """Weigh the tokens of a process' rollouts among the whole groups that they belong to.

    Args:
        accelerator: the trainer's.
        credit: weighs the tokens of whole groups.
        own: this process' rollouts; the first and the last group may be others' too.

    Returns:
        The weights of its rollouts; nothing where every token weighs 1.
    """
    size = len(own.ids)
    if size % own.group == 0:  # so it is in every process
        return credit.weigh(own)
    columns = ("ids", "outputs", "references", "sample_ids")
    every = {name: gather_object(list(getattr(own, name))) for name in columns}
    first = accelerator.process_index * size
    start, stop = first // own.group * own.group, -(-(first + size) // own.group) * own.group
    found = credit.weigh(replace(own, **{name: rows[start:stop] for name, rows in every.items()}))
    if found is None:
        return None
    mine = slice(first - start, first - start + size)
    return TokenWeights(found.values[mine], found.spans[mine])

"""Whether what is shared says the same as rows apart: log-probabilities, greedy reports, samples.

Each check gives a row: what was compared, in which dtype, what was found, what was asked for and whether it
holds. Greedy reports say no token twice, for random weights would say one again and again. In float32
differences are roundings, and products of other sizes round otherwise on a GPU; so greedy reports may part at
a near tie alone, and its width is said. In bfloat16 the yardstick is what bfloat16 itself does to rows apart;
greedy reports and samples are counted there, without a verdict.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from decoding import rows as by_rows
from grpo_steps.scripts import FIRST_MARKER
from trl.trainer.utils import add_fused_lm_head

from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.policy import token_draws
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import by_row, write_on
from radrl.training.reinforcement import shared_forward
from radrl.training.reinforcement.shared_forward import Rollouts

FILMS: Final = 2
GROUP: Final = 8
ROUNDING: Final = 1e-3
"""Of a log-probability in float32, and of a near tie between logits."""
DOUBLE: Final = 2.0
"""How many times bfloat16's own mean deviation the shared forward may have."""
Check = dict[str, Any]


def measure(setup: Setup, keep: Keep) -> None:
    """All checks, each kept as soon as it is done."""
    found: list[Check] = []
    torch.backends.cudnn.allow_tf32 = False  # float32 is to be float32 in the tower's first layer too

    def row(check: str, dtype: str, measured: str, asked: str, holds: bool | None) -> None:
        found.append({"check": check, "dtype": dtype, "measured": measured, "asked": asked, "holds": holds})
        keep({"checks": found})

    exact: torch.Tensor | None = None
    for dtype in ("float32", "bfloat16"):
        policy = setup.load(dtype=dtype)
        exact = _forward(setup, policy, dtype, exact, row)
        _greedy(setup, policy, dtype, row)
        _samples(setup, policy, dtype, row)
        del policy
        gc.collect()
        if not setup.twin:
            torch.cuda.empty_cache()


def rollouts(setup: Setup, policy: Policy) -> Rollouts:
    """Of each of some films a group of made-up reports, of lengths from one token on."""
    inputs = setup.prompts(policy, FILMS)
    owners = torch.arange(FILMS, device=setup.device).repeat_interleave(GROUP)
    drawn = torch.Generator().manual_seed(0)
    longest = setup.tokens // 2
    ids = torch.randint(FIRST_MARKER, 1400, (FILMS * GROUP, longest), generator=drawn).to(setup.device)
    lengths = torch.randint(1, longest + 1, (FILMS * GROUP,), generator=drawn).to(setup.device)
    mask = torch.arange(longest, device=setup.device) < lengths[:, None]
    kinds = inputs["mm_token_type_ids"][owners]
    films = by_row(
        inputs["mm_token_type_ids"], inputs["pixel_values"], inputs["image_grid_thw"], policy.model.config
    )
    pixels, grids = ([own[i] for i in owners.tolist()] for own in films)
    prompts = inputs["input_ids"][owners], inputs["attention_mask"][owners], kinds
    return Rollouts(*prompts, ids, mask, pixels, grids)


@torch.no_grad()
def apart(policy: Policy, every: Rollouts) -> torch.Tensor:
    """Log-probabilities of rollouts, each behind its own prompt, by transformers' forward; (B, C)."""
    found = torch.zeros(every.mask.shape, device=every.ids.device)
    for i, own in enumerate(every.mask):
        said = every.ids[i][own]
        ids = torch.cat([every.prompt_ids[i], said])[None]
        kinds = torch.cat([every.kinds[i], torch.zeros_like(said)])[None]
        logits = policy.model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            mm_token_type_ids=kinds,
            pixel_values=every.pixels[i],
            image_grid_thw=every.grids[i],
            logits_to_keep=len(said) + 1,
            use_cache=False,
        ).logits[0, :-1]
        found[i, own] = logits.float().log_softmax(dim=-1).gather(1, said[:, None])[:, 0]
    return found


@contextmanager
def kept_at_once(most: int) -> Iterator[None]:
    """A block in which so many logits are kept at once before they are computed in tiles."""
    before, shared_forward.MOST_LOGITS = shared_forward.MOST_LOGITS, most  # type: ignore[misc]
    try:
        yield
    finally:
        shared_forward.MOST_LOGITS = before  # type: ignore[misc]


def _forward(setup: Setup, policy: Policy, dtype: str, exact: torch.Tensor | None, row: Any) -> torch.Tensor:
    """The shared forward pass against rows; gives back rows in float32."""
    every = rollouts(setup, policy)
    plain = apart(policy, every)
    reason = shared_forward.enable(policy.model)
    if reason is not None:
        row("log-probabilities, shared against rows", dtype, f"not shared: {reason}", "shared", False)
        return plain if exact is None else exact
    known = policy.model.forward
    add_fused_lm_head(policy.model, temperature=1.0, outputs=("log_probs", "entropy"))
    for how, most in {"logits kept": 2**62, "logits in tiles": 0}.items():
        with torch.no_grad(), kept_at_once(most):
            found, *_ = shared_forward.log_probabilities(
                policy.model, policy.model, every, temperature=1.0, entropies=False
            )
        check = f"log-probabilities, shared against rows, {how}"
        if exact is None:
            most_apart = (found - plain)[every.mask].abs().max().item()
            holds = most_apart <= ROUNDING
            row(check, dtype, f"at most {most_apart:.1e} apart", f"at most {ROUNDING:g}", holds)
        else:
            ours, theirs = ((own - exact)[every.mask].abs().mean().item() for own in (found, plain))
            said = f"{ours:.1e} from float32's rows in the mean; rows themselves {theirs:.1e}"
            row(check, dtype, said, f"at most {DOUBLE:g} times the rows' own", ours <= DOUBLE * theirs)
    policy.model.forward = known
    return plain if exact is None else exact


def _greedy(setup: Setup, policy: Policy, dtype: str, row: Any) -> None:
    """Greedy reports against transformers' generate."""
    inputs = setup.prompts(policy, 8)
    owners = torch.arange(len(inputs["input_ids"]), device=setup.device)
    how = {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0, "max_new_tokens": setup.tokens}
    how["no_repeat_ngram_size"] = 1
    theirs, ours = (write(policy.model, inputs, owners, how) for write in (by_rows, write_on_rows))
    start, width = inputs["input_ids"].shape[1], min(theirs.shape[1], ours.shape[1])
    same = (theirs[:, start:width] == ours[:, start:width]).long()
    before = same.cumprod(dim=1).sum(dim=1)  # equal tokens of each row, up to the first that differs
    parted = (before < width - start).nonzero()[:, 0].tolist()
    different = len(theirs[:, start:].unique())
    said = f"{len(owners) - len(parted)} of {len(owners)} reports equal, of {width - start} tokens, "
    said += f"{different} different ones in all"
    asked, holds = "counted", None
    if dtype == "float32":
        ties = [_tie(policy, inputs, theirs, ours, i, start + int(before[i])) for i in parted]
        said += f"; parted at ties of at most {max(ties):.1e}" if ties else ""
        asked, holds = f"all, or at ties below {ROUNDING:g}", all(tie <= ROUNDING for tie in ties)
    row("greedy, radrl's loop against transformers' generate", dtype, said, asked, holds)


def write_on_rows(model: Any, inputs: Any, owners: torch.Tensor, settings: Any) -> torch.Tensor:
    """radrl's loop, with the arguments of bench/decoding.py's ways."""
    return write_on(model, inputs, owners, **settings)


@torch.no_grad()
def _tie(
    policy: Policy, inputs: Any, theirs: torch.Tensor, ours: torch.Tensor, row: int, place: int
) -> float:
    """By how much two tokens' logits differ where reports part."""
    films = by_row(
        inputs["mm_token_type_ids"], inputs["pixel_values"], inputs["image_grid_thw"], policy.model.config
    )
    ids = theirs[row : row + 1, :place]
    kinds = torch.zeros_like(ids)
    kinds[:, : inputs["input_ids"].shape[1]] = inputs["mm_token_type_ids"][row]
    logits = policy.model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        mm_token_type_ids=kinds,
        pixel_values=films[0][row],
        image_grid_thw=films[1][row],
        logits_to_keep=1,
        use_cache=False,
    ).logits[0, -1]
    return abs((logits[theirs[row, place]] - logits[ours[row, place]]).float().item())


def _samples(setup: Setup, policy: Policy, dtype: str, row: Any) -> None:
    """Samples by seed, of a batch as a whole and in two halves."""
    films = 4
    inputs = setup.prompts(policy, films)
    whole = _drawn(setup, policy, inputs, range(films))
    halves = torch.cat(
        [_drawn(setup, policy, inputs, range(first, first + films // 2)) for first in (0, films // 2)]
    )
    equal = int((whole == halves).all(dim=1).sum())
    said = f"{equal} of {len(whole)} reports equal, of {setup.tokens} tokens"
    asked, holds = ("all", equal == len(whole)) if dtype == "float32" else ("counted", None)
    row("samples by seed, a batch whole and in two halves", dtype, said, asked, holds)


def _drawn(setup: Setup, policy: Policy, inputs: Any, places: range) -> torch.Tensor:
    """What is drawn for some of the films, padded to the longest there may be."""
    own = slice(places.start, places.stop)
    patches = len(inputs["pixel_values"]) // len(inputs["input_ids"])
    part = {name: inputs[name][own] for name in ("input_ids", "attention_mask", "mm_token_type_ids")}
    part["pixel_values"] = inputs["pixel_values"][places.start * patches : places.stop * patches]
    part["image_grid_thw"] = inputs["image_grid_thw"][own]
    owners = torch.arange(len(places), device=setup.device).repeat_interleave(GROUP)
    numbers = token_draws.numbers(0, places, GROUP, setup.tokens, setup.device)
    how = {"do_sample": True, "temperature": 1.0, "top_p": 0.9, "top_k": 0, "num_beams": 1}
    written = write_on(
        policy.model,
        part,
        owners,
        numbers=numbers,
        max_new_tokens=setup.tokens,
        repetition_penalty=1.0,
        **how,
    )[:, inputs["input_ids"].shape[1] :]
    pad = policy.model.generation_config.pad_token_id
    return torch.nn.functional.pad(written, (0, setup.tokens - written.shape[1]), value=pad)

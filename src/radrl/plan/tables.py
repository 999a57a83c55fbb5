"""A plan as tables: on the terminal stage by stage, in Markdown a line a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.table import Table

from radrl.plan import hours
from radrl.plan.memory import GIB
from radrl.plan.report import Plan, stage_names
from radrl.plan.stages import Stage
from radrl.process.terminal import new_table

WIDTH: Final = 120
_ITEMS: Final = (
    ("weights", ("weights",)),
    ("grads", ("gradients",)),
    ("moments", ("moments",)),
    ("start", ("frozen start",)),
    ("copies", ("autocast", "buckets", "gathered", "step")),
    ("activ.", ("activations", "films")),
    ("logits", ("logits",)),
    ("cache", ("cache",)),
    ("other", ("labeler",)),
)
"""Columns of memory, and the items that each sums."""
ABOUT: Final = (
    "Memory is arithmetic (radrl.plan.memory): activations are an estimate, and films that are held in the "
    "machine's own memory are not counted. It is of the longest report that may be written, hours are of the "
    "usual one. Copies are autocast's, DDP's buckets or gathered shards, and what AdamW computes in; other "
    "is a CheXbert. Tokens are the language model's, films included. Processes share train and sft, workers "
    "(compute.workers) label, rollouts, ddsampling, generate and eval, each on a device of its own; "
    "ceilings, analyses and compare are left out; ingest.workers null is taken as `threads`."
)


def head(plan: Plan) -> Iterator[str]:
    """What is planned, in lines."""
    own = plan.films
    shares = f", {plan.engine}" if plan.devices > 1 else ""
    shares += f", {plan.workers} workers" if plan.workers > 1 else ""
    weights = f"{plan.weights / 1e6:,.1f} M weights ({plan.shape})"
    yield f"{plan.recipe}: {weights}, {plan.image_tokens} image tokens a film"
    card = f"{plan.devices} x {plan.card.name} of {plan.card.memory_gib or 0:.0f} GiB ({plan.card_said})"
    yield f"{card}{shares}; {plan.room / GIB:.1f} GiB a process for tensors"
    yield (
        f"films: {own.train:,} train, {own.val:,} val, {own.test:,} test"
        + (f", {own.pretrain:,} pretrain" if own.pretrain else "")
        + (f", {own.away:,} away" if own.away else "")
        + f" ({own.source})"
    )


def alike(stages: Sequence[Stage]) -> list[tuple[str, int, Stage]]:
    """Stages that need the same, as one: name, how many, one of them."""
    found: dict[str, list[Stage]] = {}
    for stage in stages:
        kind = stage.name.partition("@")[0]
        numbers = (stage.films, stage.sequences, stage.tokens, stage.bytes, round(stage.seconds))
        found.setdefault(f"{kind} {numbers}", []).append(stage)
    return [(stage_names([own.name for own in some]), len(some), some[0]) for some in found.values()]


def work(plan: Plan) -> Table:
    """Films, tokens, processes and hours a stage."""
    table = new_table(
        "stage",
        "films",
        "sequences",
        "tokens read",
        "learned",
        "written",
        "processes",
        unit(plan),
        "hours each",
        "hours",
    )
    for name, number, own in alike(plan.stages):
        tokens = own.tokens
        counts = (own.films, own.sequences, tokens.read, tokens.learned, tokens.written)
        cells = [short(count) for count in counts]
        memory = _bytes(own.bytes, plan)
        each = _hours(own.seconds) if number > 1 else ""
        table.add_row(name, *cells, str(own.processes), memory, each, _hours(number * own.seconds))
    largest = plan.largest
    table.add_row("all", *[""] * 6, _bytes(largest.bytes, plan), "", _hours(plan.seconds), style="bold")
    return table


def memory(plan: Plan) -> Table:
    """Memory of a device by item, of stages that need one; at the moment when most is held."""
    table = new_table(f"{unit(plan)} a device", *[name for name, _ in _ITEMS], "all", "at")
    for name, _, own in alike(plan.stages):
        if not own.bytes:
            continue
        cells = [_bytes(sum(own.items.get(item, 0) for item in items), plan) for _, items in _ITEMS]
        table.add_row(name, *cells, _bytes(own.bytes, plan), own.fullest)
    return table


def assumptions(plan: Plan) -> Iterator[str]:
    """What the numbers rest on, in lines."""
    card = plan.card
    yield (
        f"Throughputs of a {card.name}: forward {card.forward:g} and training {card.training:g} TFLOP/s, "
        f"memory {card.bandwidth:g} and link {card.link:g} TB/s, {card.layer_ms:g} ms a layer and token "
        f"({card.launched_layer_ms:g} where weights are parted, {card.vllm_layer_ms:g} by vLLM, "
        f"{plan.pace.vllm_rows:g} reports at once), "
        f"{card.texts:g} texts a second of a CheXbert; reports of {plan.pace.report_tokens:g} tokens. "
        "Another by --throughput KEY=VALUE."
    )
    for name, source in hours.sources(card).items():
        yield f"{name}: {source}."
    yield ABOUT


def summary(plans: Sequence[Plan]) -> str:
    """Several plans in Markdown, a line each.

    Args:
        plans: of recipes, on numbers of devices.
    """
    heads = [
        "recipe",
        "cards",
        "weights",
        "most a card",
        "at",
        "hours of an arm",
        "hours",
        "as it is, or mend",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for plan in plans:
        trains = [stage.seconds for stage in plan.stages if stage.name.startswith("train@")]
        mends = "; ".join(dict.fromkeys(one.mend for one in plan.refusals)).replace("|", "or")
        largest = plan.largest
        cells = [
            plan.recipe,
            f"{plan.devices} x {plan.card.name}",
            f"{plan.weights / 1e9:.2f} B" if plan.weights > 1e8 else f"{plan.weights / 1e6:.1f} M",
            f"{largest.bytes / GIB:.1f} GiB",
            f"`{largest.name}`",
            _hours(max(trains)) if trains else "",
            _hours(plan.seconds) if plan.whole else "",
            mends or "as it is",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short(count: int) -> str:
    """A count in three figures.

    Example:
        >>> short(0), short(950), short(270_790), short(3_400_000_000)
        ('-', '950', '271 k', '3.4 G')
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count) if count else "-"


def _hours(seconds: float) -> str:
    """Hours, or minutes in hundredths of one."""
    hours = seconds / 3600
    return (
        "-"
        if not seconds
        else f"{hours:,.0f}"
        if hours >= 100
        else f"{hours:.2g}"
        if hours >= 0.01
        else "<0.01"
    )


def unit(plan: Plan) -> str:
    """What memory is shown in: GiB, or MiB where no stage has one."""
    return "GiB" if plan.largest.bytes >= GIB else "MiB"


def _bytes(count: int, plan: Plan) -> str:
    shown = count / GIB if unit(plan) == "GiB" else count / 2**20
    return "-" if not count else f"{shown:.2f}" if shown < 1000 else f"{shown:,.0f}"

"""How long a stage takes: operations by stated throughputs. Each throughput says where it is from.

    reading     2 operations a weight and token, in `forward` a second
    learning    2 more a weight and token for the gradient of activations, 2 more for that of weights that
                train, 2 more where layers are computed again (checkpointing), in `training` a second
    writing     for each token of the longest report of a batch: `layer_ms` a layer, and every weight read
                from memory, under shards gathered over the link too; beside that the operations of its rows

Steps that cannot be recorded, since processes hold parts of the weights, take `launched_layer_ms` a layer.
vLLM writes at `vllm_layer_ms`, at most `vllm_rows` reports at once, and reads their keys and values for each
token too. Other communication is left out.

Attention's own products are left out: at 600 tokens they are a hundredth of a 3 B model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml

from radrl.plan.counts import Tokens
from radrl.plan.memory import FLOAT, FOUR_BIT, Setting

if TYPE_CHECKING:
    from radrl.plan.peak_memory import Model

FILE: Final = "throughputs.yml"


@dataclass(frozen=True, slots=True)
class Card:
    """What a device can do; throughputs.yml has the units and where each number is from."""

    name: str
    memory_gib: float | None
    reserve_gib: float
    forward: float
    training: float
    bandwidth: float
    link: float
    layer_ms: float
    launched_layer_ms: float
    vllm_layer_ms: float
    texts: float
    source: str


@dataclass(frozen=True, slots=True)
class Pace:
    """What does not depend on the card: films and texts a second, reports at once, tokens of one.

    `equal_groups` is the share of groups whose rewards are equal, where an arm redraws them.
    """

    films: float
    films_drawn: float
    texts_rules: float
    texts_compact: float
    vllm_rows: float
    equal_groups: float
    report_tokens: float
    drawn_tokens: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What a token costs in a policy.

    Args:
        tower: weights that a patch goes through.
        language: weights that a token goes through.
        layers: of the language model.
        weight_bytes: of the language model's weights as they are read.
        gathered_bytes: of those that lie on other devices.
        tower_learns, language_learns: whether the weights of each train.
        tower_passes: whether a gradient goes through the tower at all.
        checkpointing: whether layers are computed again.
        cached_bytes: keys and values that a token of all reports at once reads, where they count.
        loop: whose steps write: radrl's own (recorded on a GPU), its own launched from Python, or vLLM's.
    """

    tower: int
    language: int
    layers: int
    weight_bytes: int
    gathered_bytes: int = 0
    tower_learns: bool = False
    language_learns: bool = False
    tower_passes: bool = False
    checkpointing: bool = False
    cached_bytes: int = 0
    loop: Literal["recorded", "launched", "vllm"] = "recorded"


def costs_of(model: Model, own: Setting, tunes: str | None, *, tied: bool) -> Costs:
    """What a token costs in a policy as it trains or writes.

    Args:
        model: the policy.
        own: how it computes and what is held.
        tunes: what trains; nothing for a policy that only writes.
        tied: whether the head is the embedding.
    """
    weights = model.weights
    used = weights.language + weights.adapters - (0 if tied else weights.embedding)
    products = 2 if own.autocast else own.frozen_bytes
    gathered = FLOAT if tunes in ("full", "language") else own.frozen_bytes
    # what four-bit layers read and write for a token besides: as they are, and once more as numbers
    rounded = int((FOUR_BIT + own.product_bytes) * weights.layers) if own.four_bit else 0
    return Costs(
        tower=weights.vision,
        language=used,
        layers=model.sizes.language.layers,
        weight_bytes=used * products + rounded,
        gathered_bytes=used * gathered * (own.shards - 1) // own.shards,
        tower_learns=tunes in ("full", "vision"),
        language_learns=tunes in ("full", "language"),
        tower_passes=tunes in ("full", "vision") or bool(model.adapted.get("vision", (0, 0))[1]),
        checkpointing=own.checkpointing,
        loop="launched" if own.shards > 1 else "recorded",
    )


def table() -> dict[str, Any]:
    """throughputs.yml."""
    found: dict[str, Any] = yaml.safe_load((files("radrl.plan") / FILE).read_text(encoding="utf-8"))
    return found


def read(card: str, changed: Mapping[str, float]) -> tuple[Card, Pace]:
    """A card and the rest, some numbers changed.

    Args:
        card: a key of throughputs.yml's `cards`.
        changed: numbers by key, of the card or of what does not depend on it.

    Raises:
        ValueError: when there is no such card or key, naming those there are.
    """
    known = table()
    if card not in known["cards"]:
        raise ValueError(f"{card!r} is no card; there are {', '.join(known['cards'])}")
    stages = {name: float(value) for name, value in known["stages"].items() if name != "source"}
    found = Card(card, **known["cards"][card])
    reports = known["reports"]
    pace = Pace(**stages, report_tokens=float(reports["tokens"]), drawn_tokens=float(reports["drawn"]))
    keys = {own.name: own for one in (Card, Pace) for own in fields(one)}
    for key in changed:
        if key not in keys or key in ("name", "source"):
            valid = ", ".join(name for name in keys if name not in ("name", "source"))
            raise ValueError(f"{key!r} is no throughput; there are {valid}")
    of_card = {key: value for key, value in changed.items() if key in Card.__slots__}
    of_pace = {key: value for key, value in changed.items() if key in Pace.__slots__}
    return replace(found, **of_card), replace(pace, **of_pace)  # type: ignore[arg-type]


def sources(card: Card) -> dict[str, str]:
    """Where the numbers are from, by what they are."""
    known = table()
    return {
        card.name: card.source,
        "stages": known["stages"]["source"],
        "reports": known["reports"]["source"],
    }


def seconds(tokens: Tokens, costs: Costs, card: Card, *, processes: int = 1) -> float:
    """How long what is computed takes.

    Args:
        tokens: of all processes.
        costs: of the policy.
        card: what each process computes on.
        processes: that share it; what one batch after another writes is each process' own.
    """
    forward, training = card.forward * 1e12, card.training * 1e12
    reading = 2 * (costs.tower * tokens.patches + costs.language * (tokens.read + tokens.written)) / forward
    return (reading + learning(tokens, costs) / training) / processes + writing(tokens, costs, card)


def learning(tokens: Tokens, costs: Costs) -> float:
    """Operations of forward and backward passes."""
    again = 2 * costs.checkpointing
    language = costs.language * (4 + again + 2 * costs.language_learns)
    tower = costs.tower * ((4 + again if costs.tower_passes else 2) + 2 * costs.tower_learns)
    return tokens.learned * language + tokens.patches_learned * tower


def writing(tokens: Tokens, costs: Costs, card: Card) -> float:
    """Seconds of written tokens that wait for one another.

    Example:
        >>> card = Card("x", None, 0, 1, 1, 1.0, 1.0, 1.0, 7.0, 0.1, 1, "")
        >>> round(writing(Tokens(steps=100), Costs(0, 0, 10, 10**9), card), 6)
        1.1
    """
    layer_ms = {
        "recorded": card.layer_ms,
        "launched": card.launched_layer_ms,
        "vllm": card.vllm_layer_ms,
    }[costs.loop]
    read = costs.weight_bytes + costs.cached_bytes
    a_token = costs.layers * layer_ms / 1e3 + read / (card.bandwidth * 1e12)
    return tokens.steps * (a_token + costs.gathered_bytes / (card.link * 1e12))

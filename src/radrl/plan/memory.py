"""What a stage holds on a device, in bytes, item by item: equations, worked from what torch keeps.

    weights        4 a weight that trains (float32 masters), those of its dtype a weight that does not
    gradients      4 a weight that trains
    moments        AdamW's two: 8 a weight, or 2 and 8/256 for the scales of blocks by the 8-bit AdamW, which
                   keeps an embedding's in 32 bits (transformers' Trainer says so to bitsandbytes)
    frozen start   a copy of the policy in the dtype of what does not train, where a KL term or the oracle
                   asks it; under adapters the base is there already; on the host a device has it for as
                   long as it is asked
    autocast       a bfloat16 copy of each float32 weight that trains, while a block of autocast is open; in
                   an update with checkpointing one layer's and their gradients (`radrl.training.shards`),
                   and the head's where it is no tile
    buckets        under DDP, gradients once more on their way between processes
    gathered       under shards, the two layers that are whole at a time, and the embedding, in float32
    activations    `kept` a token and layer, an estimate; with checkpointing the layers' inputs and one layer
    logits         those of reports, some copies of them; in tiles where the vocabulary is large
    cache          keys and values of a generation, 2 a token and layer

An update holds activations, logits and autocast's copies beside weights, gradients and moments; a generation
the cache and one layer's activations beside weights and moments; the optimizer's step weights, gradients and
moments, for the fused AdamW and the 8-bit one compute without a copy. The largest of the three is needed.

`kept` was worked out from the tensors that torch 2.13 keeps for the backward pass of transformers 5.23's
layers, and bench/plan_memory.py counts them again. Departures from Korthikanti et al. 2022 ("Reducing
activation recomputation in large transformer models", eq. 2): no term of the squared length, since torch's
attention keeps none; two norms in float32; SwiGLU; a linear layer that does not train keeps no input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Part:
    """A stack of layers: the vision tower or the language model.

    Args:
        layers: how many.
        hidden: width of what goes from layer to layer.
        heads: width of the queries of all heads.
        keys: width of the keys, or of the values, of all heads.
        feed_forward: width within the feed-forward part.
        gated: whether that has a gate (SwiGLU); else one product, an activation, another product.
        fused: whether queries, keys and values are one product, so that a view of one holds all three.
    """

    layers: int
    hidden: int
    heads: int
    keys: int
    feed_forward: int
    gated: bool = True
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """A policy.

    Args:
        tower: the vision tower, whose tokens are patches.
        language: the language model.
        vocabulary: entries of the embedding.
        patch: side of a patch in pixels.
        merge: patches of a side that become one token.
        values: numbers that a patch is given as.
    """

    tower: Part
    language: Part
    vocabulary: int
    patch: int
    merge: int
    values: int


def sizes_of(config: Any) -> Sizes:
    """The sizes in a configuration of transformers.

    Args:
        config: of a Qwen2.5-VL or a Qwen3-VL.
    """
    text, seen = config.get_text_config(), config.vision_config
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    language = Part(
        text.num_hidden_layers,
        text.hidden_size,
        text.num_attention_heads * head,
        text.num_key_value_heads * head,
        text.intermediate_size,
    )
    tower = Part(
        seen.depth,
        seen.hidden_size,
        seen.hidden_size,
        seen.hidden_size,
        seen.intermediate_size,
        gated=seen.hidden_act == "silu",
        fused=True,
    )
    values = seen.in_channels * seen.temporal_patch_size * seen.patch_size**2
    return Sizes(tower, language, text.vocab_size, seen.patch_size, seen.spatial_merge_size, values)


Engine = Literal["ddp", "fsdp2"]
GIB: Final = 2**30
FLOAT: Final = 4
FOUR_BIT: Final = 0.516
"""Bytes of a weight in NF4, its share of two levels of scales included: 4.127 bits (Dettmers et al. 2023)."""
BLOCK: Final = 256
"""Numbers that share a scale in bitsandbytes' 8-bit states."""
TILE: Final = (4096, 32768)
"""Tokens and entries of a tile of TRL's fused head."""
MOST_LOGITS: Final = 2**24
"""Of a part, above which they are computed in tiles (`radrl.training.reinforcement.shared_forward`)."""
LOGIT_COPIES: Final = 4
"""Float32 copies of the logits of rollouts: as they are, by temperature, their log-softmax, its gradient."""
LESSON_COPIES: Final = 3
"""The same of a supervised step: as they are, their log-softmax, its gradient."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How many weights a policy has, and which train.

    Args:
        vision: of the tower with its projector.
        language: of the rest, the embedding included.
        embedding: of the embedding, which may be the head too.
        layer: of the largest layer.
        layers: of the language model's layers.
        trained: that train: of them, or of adapters beside them.
        trained_embedding: of the embedding, among `trained`.
        adapters: of adapters, all of which train.
    """

    vision: int
    language: int
    embedding: int
    layer: int
    layers: int
    trained: int
    trained_embedding: int = 0
    adapters: int = 0

    @property
    def all(self) -> int:
        """Those of the policy itself."""
        return self.vision + self.language

    @property
    def frozen(self) -> int:
        """Those that stay as they are."""
        return self.all + self.adapters - self.trained


@dataclass(frozen=True, slots=True)
class Setting:
    """What a training's memory depends on besides the policy.

    Args:
        frozen_bytes: of a weight that does not train.
        autocast: whether products are of bfloat16.
        eight_bit: whether AdamW's state has 8 bits.
        start: whether a frozen start is held.
        start_on_host: whether it lies there while nothing asks it.
        checkpointing: whether layers are computed again in the backward pass.
        accelerator: whether the device is one.
        four_bit: whether the language model's layers are held in four bits under adapters.
        engine: how processes share what is held.
        processes: that do.
    """

    frozen_bytes: int
    autocast: bool
    eight_bit: bool = False
    start: bool = False
    start_on_host: bool = False
    checkpointing: bool = False
    accelerator: bool = True
    four_bit: bool = False
    engine: Engine = "ddp"
    processes: int = 1

    @property
    def product_bytes(self) -> int:
        """Of a number in a product."""
        return 2 if self.autocast else FLOAT

    @property
    def start_leaves(self) -> bool:
        """Whether a device has the frozen start only while it is asked; of shards each keeps its part."""
        return self.start and self.start_on_host and self.engine != "fsdp2"

    @property
    def shards(self) -> int:
        """In how many pieces weights, gradients, moments and frozen start lie."""
        return self.processes if self.engine == "fsdp2" else 1


def moments(trained: int, embedding: int, *, eight_bit: bool) -> int:
    """AdamW's two moments.

    Args:
        trained: weights that train.
        embedding: those of them that are an embedding's.
        eight_bit: whether the others' have 8 bits.

    Example:
        >>> moments(1000, 0, eight_bit=False)
        8000
    """
    if not eight_bit:
        return 2 * FLOAT * trained
    small = trained - embedding
    return 2 * FLOAT * embedding + 2 * small + 2 * FLOAT * small // BLOCK


def cache(part: Part, tokens: int, *, key_bytes: int, value_bytes: int) -> int:
    """Keys and values of tokens in all layers.

    Example:
        >>> cache(Part(36, 2048, 2048, 256, 11008), 1, key_bytes=2, value_bytes=2)
        36864
    """
    return tokens * part.layers * part.keys * (key_bytes + value_bytes)


def saved_bytes(part: Part, *, product_bytes: int, residual_bytes: int, trains: bool) -> int:
    """Bytes that torch keeps of a token in a layer for the backward pass.

    Args:
        part: the layer's sizes.
        product_bytes: of a number in a product, 2 under autocast.
        residual_bytes: of what goes from layer to layer.
        trains: whether the layer's own weights do: else only what activations need is kept.

    Returns:
        Bytes, an estimate: the logarithms of sums of attention, some hundredths, are left out.

    Example:
        >>> small = Part(2, 256, 256, 64, 1000)
        >>> kept(small, product_bytes=4, residual_bytes=4, trains=True)
        24704
    """
    h, q, f = part.hidden, part.heads, part.feed_forward
    attention = product_bytes * (2 * q + (4 * q if part.fused else 2 * part.keys))
    # gate, its activation, what it is multiplied with; and the product where the last layer trains
    between = product_bytes * f * ((3 if part.gated else 1) + trains)
    if not trains:
        return 2 * FLOAT * h + attention + between
    norms = 2 * h * (FLOAT + max(residual_bytes, product_bytes))  # its input in float32, and that normed
    # autocast casts the input of each product apart; without it products share what a norm gives
    products = (3 if part.fused else 5) if product_bytes < FLOAT else 2
    return norms + product_bytes * products * h + attention + between


def prompts_again(part: Part, rollouts: int, tokens: int, *, product_bytes: int) -> int:
    """Keys and values that a layer keeps for rollouts behind shared prompts, once for each head of queries.

    Args:
        part: the layer's sizes.
        rollouts: that go through the model at once.
        tokens: of a prompt and a report.
        product_bytes: of a number in a product.
    """
    return 2 * product_bytes * part.heads * rollouts * tokens


def adapters_kept(inputs: int, rank: int, number: int, *, product_bytes: int) -> int:
    """Bytes that torch keeps of a token in a layer for adapters: their inputs, dropout's mask, the low rank.

    Args:
        inputs: width of the inputs of all adapted products of a layer together.
        rank: of the adapters.
        number: of adapted products.
        product_bytes: of a number in a product.
    """
    return inputs * (FLOAT + product_bytes) + number * rank * product_bytes


def activations(layers: int, kept: int, tokens: int, *, boundary: int, checkpointing: bool) -> int:
    """What a forward pass keeps of tokens in all layers.

    Args:
        layers: how many.
        kept: bytes a token and layer.
        tokens: how many.
        boundary: bytes of a layer's input, a token.
        checkpointing: whether that alone is kept, and one layer is there as a whole at a time.
    """
    if checkpointing:
        return tokens * (layers * boundary + kept)
    return tokens * layers * kept


def logits(tokens: int, vocabulary: int, *, copies: int) -> int:
    """Float32 logits of tokens, some copies.

    Example:
        >>> logits(16 * 96, 1500, copies=1)
        9216000
    """
    return copies * FLOAT * tokens * vocabulary


def tiled(tokens: int, sizes: Sizes, *, product_bytes: int, trains: bool) -> int:
    """What TRL's fused head takes in place of logits: a tile, and where the head trains its gradient apart.

    Args:
        tokens: of reports.
        sizes: of the policy.
        product_bytes: of a number in a product.
        trains: whether the head does.
    """
    tile = min(tokens, TILE[0]) * min(sizes.vocabulary, TILE[1]) * product_bytes
    return tile + (FLOAT * sizes.vocabulary * sizes.language.hidden if trains else 0)


def persistent_bytes(weights: Weights, own: Setting) -> dict[str, int]:
    """What a training holds from its first step to its last, by item.

    Args:
        weights: of the policy.
        own: how it trains.
    """
    found = {
        "weights": FLOAT * weights.trained + _frozen(weights, own),
        "moments": moments(weights.trained, weights.trained_embedding, eight_bit=own.eight_bit),
        "frozen start": 0 if own.start_leaves else start(weights, own),
    }
    return {name: -(-count // own.shards) for name, count in found.items()}


def start(weights: Weights, own: Setting) -> int:
    """The frozen start as a whole, where one is held."""
    return own.frozen_bytes * weights.all if own.start and not weights.adapters else 0


def _frozen(weights: Weights, own: Setting) -> int:
    """Bytes of what stays as it is."""
    rounded = weights.layers if own.four_bit else 0
    return own.frozen_bytes * (weights.frozen - rounded) + int(FOUR_BIT * rounded)


def gradients(weights: Weights, own: Setting) -> int:
    """Gradients of what trains."""
    return -(-FLOAT * weights.trained // own.shards)


def between(weights: Weights, own: Setting) -> dict[str, int]:
    """What processes hold to work together."""
    if own.engine == "fsdp2":
        return {"gathered": FLOAT * (2 * weights.layer + weights.embedding)}
    return {"buckets": FLOAT * weights.trained if own.processes > 1 else 0}


def autocast(weights: Weights, own: Setting, *, learns: bool = True, head: bool = True) -> int:
    """The bfloat16 copies of float32 weights; with checkpointing they go with their layer.

    Args:
        weights: of the policy.
        own: how it trains.
        learns: whether a pass is learned from; else it writes, and keeps the copies from token to token.
        head: whether the head is cast as a whole; else tile by tile.
    """
    if not own.autocast:
        return 0
    if not learns or not own.checkpointing:
        return 2 * weights.trained
    of_layer = min(weights.layer, weights.trained)  # a copy and its gradient
    return 2 * (2 * of_layer + (weights.trained_embedding if head else 0))

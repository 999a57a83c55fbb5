"""Engines that write reports, opened by their names in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radrl.policy.writer import ENGINES, Vllm, Writer


def open_writer(
    engine: str,
    folder: Path,
    *,
    dtype: str,
    device: str,
    threads: int,
    compute: Mapping[str, Any] | None = None,
) -> Writer:
    """A policy behind an engine, ready to write; whoever opens it closes it.

    Args:
        engine: of `radrl.policy.writer.ENGINES`.
        folder: the policy's.
        dtype: of the weights.
        device: where the policy computes, as params.yaml's `device`.
        threads: of torch.
        compute: the section `compute`, for engines with a process of their own; nothing for its defaults.

    Raises:
        ValueError: when there is no such engine.
    """
    if engine == "hf":
        from radrl.policy.hf_writer import HfWriter

        return HfWriter.open(folder, dtype=dtype, device=device, threads=threads)
    if engine == "vllm":
        from radrl.policy.vllm_writer import VllmWriter

        own = Vllm.model_validate((compute or {}).get("vllm") or {})
        return VllmWriter(folder, dtype=dtype, device=device, threads=threads, compute=own)
    raise ValueError(f"no engine {engine!r} writes reports; set one of {', '.join(ENGINES)}")

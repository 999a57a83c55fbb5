"""The stage generate where an output is more than its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from radrl.pipelines.generate import create_pipeline, write_reports
from radrl.policy.hf_writer import HfWriter
from radrl.policy.writer import Written

OUTPUTS = [
    "<think>Large heart.</think> <report>Cardiomegaly.</report>",
    "Clear lungs.",
    "<think>Small.</think><report>Left effusion and",
]


@pytest.fixture
def write(
    small: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    policy_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[dict[str, Any]], pd.DataFrame]:
    def written(_: Any, films: list[Any], *args: Any, **settings: Any) -> list[list[Written]]:
        return [[Written(OUTPUTS[i], 4, True)] for i in range(len(films))]

    monkeypatch.setattr(HfWriter, "write", written)

    def run(arm: dict[str, Any]) -> pd.DataFrame:
        return write_reports(
            make_corpus(["test"], studies=3),
            policy_folder,
            small["generate"],
            "float32",
            small["prompts"],
            seed=0,
            threads=1,
            device="cpu",
            arm={"start": "sft", "selection": "full"} | arm,
        )

    return run


def test_report_is_the_text_inside_its_block_and_the_output_is_kept(write: Callable[..., Any]) -> None:
    table = write({"output": "think_report"})
    assert table["report"].tolist() == ["Cardiomegaly.", "", "Left effusion and"]
    assert table["output"].tolist() == OUTPUTS


@pytest.mark.parametrize("arm", [{}, {"output": "plain"}])
def test_plain_outputs_are_the_reports(write: Callable[..., Any], arm: dict[str, Any]) -> None:
    table = write(arm)
    assert table["report"].tolist() == OUTPUTS
    assert "output" not in table


def test_stage_is_told_the_arm() -> None:
    assert "params:arm" in create_pipeline().inputs()

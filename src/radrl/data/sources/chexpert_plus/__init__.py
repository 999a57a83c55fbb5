"""The source `chexpert_plus`: CheXpert Plus as Stanford AIMI ships it (Chambon et al. 2024).

With the radiologists' labels of CheXpert's validation set.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from radrl.data.sources import Source, path_or_none
from radrl.parts.section import LocalPath, Section, takes


class ChexpertPlusSection(Section):
    """CheXpert Plus as Stanford AIMI ships it."""

    path: LocalPath
    images: LocalPath
    films: Literal["png", "jpg", "dicom"]
    split: Literal["release", "mambaxray", "drawn"]
    annotation: LocalPath | None
    gold: LocalPath | None
    test: Literal["split", "gold"]

    @model_validator(mode="after")
    def _files_are_named(self) -> ChexpertPlusSection:
        if self.split == "mambaxray" and self.annotation is None:
            raise ValueError("split: mambaxray needs annotation, the benchmark's annotation file")
        if self.test == "gold" and self.gold is None:
            raise ValueError("test: gold needs gold, a file of labels such as CheXpert's valid.csv")
        return self


@takes(ChexpertPlusSection)
def chexpert_plus(
    *, path: str, images: str, annotation: str | None, gold: str | None, **settings: Any
) -> Source:
    """CheXpert Plus as Stanford AIMI ships it.

    Args:
        path: its table.
        images: the folder that the films' paths start from, and may not leave.
        annotation: the annotation file of a benchmark.
        gold: a file of labels.
        **settings: further arguments of `radrl.data.sources.chexpert_plus.source.read`.
    """
    from radrl.data.sources.chexpert_plus.source import read

    source = read(
        path=Path(path),
        images=Path(images),
        annotation=path_or_none(annotation),
        gold=path_or_none(gold),
        **settings,
    )
    return replace(source, root=Path(images))

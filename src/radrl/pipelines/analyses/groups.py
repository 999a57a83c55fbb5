"""Groups: all rollouts of some training films, as texts and as the tokens that credit weighs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.labelers import Labeler, LabelerError
from radrl.labelers import build as build_labeler
from radrl.observations import FINDINGS, OBSERVATIONS, POSITIVE

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from radrl.credit.base import Rollouts, TokenWeights


def films_of(rollouts: ds.Dataset) -> list[str]:
    """The films that have rollouts, in their order."""
    ids: list[str] = rollouts.to_table(columns=["sample_id"]).column("sample_id").unique().to_pylist()
    return ids


def asserting(films: Sequence[str], labels: pd.DataFrame) -> list[str]:
    """Those films whose reference asserts a finding.

    Args:
        films: ids.
        labels: of the reference reports.
    """
    asserted = {*labels.loc[(labels[[*FINDINGS]] == POSITIVE).any(axis=1), "sample_id"]}
    return [film for film in films if film in asserted]


def draw(films: Sequence[str], count: int, *, rng: np.random.Generator) -> list[str]:
    """Choose films at random, in their order.

    Args:
        films: to choose from.
        count: how many; all where there are fewer.
        rng: decides.
    """
    chosen = rng.choice(len(films), size=min(count, len(films)), replace=False)
    return [films[i] for i in sorted(chosen)]


def read(rollouts: ds.Dataset, corpus: ds.Dataset, films: Sequence[str]) -> pd.DataFrame:
    """The rollouts of films, those of a film side by side.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films; the split `train` is read.
        films: F ids.

    Returns:
        sample_id, rollout, report, patient_id and reference, the one that labelers read: F K rows, in the
        order of `films`.

    Raises:
        ValueError: when films have different numbers of rollouts, or the corpus lacks one.
    """
    kept = rollouts.to_table(filter=pc.field("sample_id").isin(list(films))).to_pandas()
    counts = kept.groupby("sample_id").size()
    if counts.nunique() != 1:
        raise ValueError(
            f"films have {counts.min()} to {counts.max()} rollouts; run the stage rollouts again"
        )
    known = corpora.read(corpus, split="train", columns=["sample_id", "patient_id", "label_text"])
    known = known.rename(columns={"label_text": "reference"})
    found = pd.DataFrame({"sample_id": list(films)}).merge(
        kept.sort_values("rollout", kind="stable"), on="sample_id", validate="one_to_many"
    )
    together = found.merge(known, on="sample_id", how="left", validate="many_to_one")
    if (lacking := together["reference"].isna()).any():
        raise ValueError(
            f"film {together.loc[lacking, 'sample_id'].iloc[0]} has rollouts but is no training film of the "
            "corpus; run the stage rollouts again"
        )
    return together


def group_size(frame: pd.DataFrame) -> int:
    """K, of a table of `read`."""
    return len(frame) // frame["sample_id"].nunique()


def patients(frame: pd.DataFrame) -> list[str]:
    """The patient of each of the F films of a table of `read`."""
    return frame["patient_id"].iloc[:: group_size(frame)].tolist()


def tokenised(frame: pd.DataFrame, tokenizer: PreTrainedTokenizerBase) -> Rollouts:
    """Rollouts as credit takes them.

    Rollouts are kept as text, so they are cut into tokens anew: a policy may have written other tokens that
    read the same.

    Args:
        frame: a table of `read`.
        tokenizer: the policy's.
    """
    from radrl.credit.base import Rollouts
    from radrl.policy.spans import ByteLevelSpans

    spans = ByteLevelSpans(tokenizer)
    ids = tokenizer(frame["report"].tolist(), add_special_tokens=False)["input_ids"]
    return Rollouts(
        ids=ids,
        outputs=[spans.locate(own).text for own in ids],  # which a normalising tokenizer may have changed
        references=frame["reference"].tolist(),
        sample_ids=frame["sample_id"].tolist(),
        group=group_size(frame),
    )


def label_first(
    frame: pd.DataFrame, rollouts: Rollouts, labels: pd.DataFrame, labeler: Labeler
) -> pd.DataFrame:
    """The first rollout of each film with its labels and its reference's.

    Args:
        frame: a table of `read`, of F films.
        rollouts: of `tokenised`, whose texts are labelled.
        labels: of the reference reports.
        labeler: reads the rollouts.

    Returns:
        F rows of the table, with report, labels and reference_labels, 14 class indices each.
    """
    first = frame.iloc[:: rollouts.group]
    outputs = rollouts.outputs[:: rollouts.group]
    known = labels.set_index("sample_id").loc[first["sample_id"], list(OBSERVATIONS)]
    return first.assign(
        report=outputs, labels=list(labeler.label(outputs)), reference_labels=list(known.to_numpy())
    )


def load_tokenizer(policy: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a policy's folder, without the policy."""
    from transformers import AutoTokenizer

    from radrl.storage import pointers

    folder = pointers.resolve(policy, stage="policy")
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def weigh(
    frame: pd.DataFrame, policy: Path, settings: Mapping[str, Any], reader: Callable[[str], Labeler]
) -> tuple[Rollouts, dict[str, TokenWeights], dict[str, str]]:
    """Rollouts with the weights that credit gives their tokens when arms train.

    Args:
        frame: a table of `read`.
        policy: folder of the policy that wrote them.
        settings: `analyses.credit`.
        reader: gives a labeler by its name.

    Returns:
        The rollouts, weights by credit, and why each of the other credits is left out.

    Raises:
        ValueError: when every credit is left out.
    """
    from radrl.credit.build import build

    tokenizer = load_tokenizer(policy)
    tokens = tokenised(frame, tokenizer)
    weights: dict[str, TokenWeights] = {}
    absent = {name: f"analyses.credit.{name} is null" for name, own in settings.items() if own is None}
    for name in [name for name in settings if name not in absent]:
        try:
            found = build({name: settings[name]}, tokenizer, reader).weigh(tokens)
        except LabelerError as error:  # its model is not there
            absent[name] = str(error)
        else:
            weights |= {name: found} if found is not None else {}
    if not weights:
        raise ValueError(f"no credit weighs tokens: {'; '.join(absent.values())}")
    return tokens, weights, absent


@dataclass(frozen=True, slots=True, eq=False)
class AnalysisSettings:
    """What rollouts are looked at by.

    Args:
        analyses: the section `analyses`.
        bootstrap: resamples and confidence.
        labeler: the section `labeler`; its `name` gives the rewards, as when arms train.
        readers: the labelers that read the labels before and after masking.
        seed: of the films, of the random row, of ties and of the resamples.
        threads: of torch.
        device: where a CheXbert computes.
    """

    analyses: dict[str, Any]
    bootstrap: dict[str, Any]
    labeler: dict[str, Any]
    readers: list[str]
    seed: int
    threads: int
    device: str

    @property
    def level(self) -> float:
        """Coverage of the intervals."""
        return float(self.bootstrap["confidence"])

    def labelers_from(self, labeler_models: Path) -> Callable[[str], Labeler]:
        """What gives a labeler by its name, one object a labeler.

        So what the gradient's forward pass reads need not be read again.

        Args:
            labeler_models: what the stage labeler wrote.
        """
        return cache(lambda name: build_labeler(self.labeler, labeler_models, name=name, device=self.device))

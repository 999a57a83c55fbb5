"""Nodes of the stage analyses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.labelers.remembering import Remembering
from radrl.pipelines.analyses import groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mask_tokens(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    start: Path,
    labeler_models: Path,
    published: pd.DataFrame,
    ingest_summary: dict[str, Any],
    settings: dict[str, Any],
    bootstrap: dict[str, Any],
    labeler: dict[str, Any],
    readers: list[str],
    seed: int,
    threads: int,
) -> pd.DataFrame:
    """Mask the heaviest tokens of rollouts, read the labels again, and print what changed: DEER, table 6.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films, for references and patients.
        start: the policy that wrote the rollouts, for its tokenizer.
        labeler_models: what the stage labeler wrote.
        published: the papers' results.
        ingest_summary: counts of the stage ingest.
        settings: the section `analyses`.
        bootstrap: resamples and confidence.
        labeler: the section `labeler`.
        readers: the labelers that read the labels before and after.
        seed: of the films, of the random row, of ties and of the resamples.
        threads: of torch.

    Returns:
        A line a labeler, strategy and metric: value and interval over patients, difference from masking at
        random with its tests, and how many films and rollouts. A strategy that cannot be had has no line.
    """
    from radrl.pipelines.analyses import masking, table
    from radrl.process.runtime import pin

    pin(threads)
    own = settings["masking"]
    films = groups.draw(groups.films_of(rollouts), own["films"], rng=np.random.default_rng([seed, 5]))
    frame = groups.read(rollouts, corpus, films)
    # one object a labeler: what the gradient's forward pass reads need not be read again
    reader = cache(lambda name: build(labeler, labeler_models, name=name))
    tokens, weights, absent = groups.weigh(frame, start, settings["credit"], reader)
    texts = masking.masked_reports(tokens, weights, own, seed=seed)
    found = masking.tabulate(
        readers, reader, frame, tokens, texts, settings=settings, bootstrap=bootstrap, seed=seed
    )
    table.show_masking(
        found,
        published,
        share=own["share"],
        level=bootstrap["confidence"],
        absent=absent,
        unweighted={name: masking.unweighted_share(weight) for name, weight in weights.items()},
        drawn=ingest_summary["drawn"],
    )
    return found


def measure_rewards(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    subset_random: pd.DataFrame,
    subset_ddsampling: pd.DataFrame,
    diversity: pd.DataFrame,
    labeler_models: Path,
    published: pd.DataFrame,
    ingest_summary: dict[str, Any],
    settings: dict[str, Any],
    bootstrap: dict[str, Any],
    labeler: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """How much the rewards of a film's rollouts differ, in all films and in subsets: DEER, table 7.

    Beside the table's rows stands the most diverse subset: as many films as DDSampling draws, the first by
    rank. It tells what diversity itself does from what the draw leaves of it.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films, for references and patients.
        subset_random: the random subset.
        subset_ddsampling: the subset that DDSampling drew.
        diversity: rank of each film, for the subset that it would have taken without its draw.
        labeler_models: what the stage labeler wrote.
        published: the papers' results.
        ingest_summary: counts of the stage ingest.
        settings: the section `analyses`.
        bootstrap: resamples and confidence.
        labeler: the section `labeler`; its `name` gives the rewards, as when arms train.
        seed: of the films, where pools are too large, and of the resamples.

    Returns:
        A line a pool (full, random, ddsampling, most_diverse) and metric: value and interval over patients,
        difference from the random subset with its tests, and how many films.
    """
    from radrl.pipelines.analyses import rewards, table
    from radrl.rewards.ce_f1 import ClinicalF1

    own = settings["reward_diversity"]
    known = groups.films_of(rollouts)
    pools = rewards.draw_pools(
        known, subset_random, subset_ddsampling, diversity, count=own["films"], seed=seed
    )
    asked = {film for pool in pools.values() for film in pool}
    frame = groups.read(rollouts, corpus, [film for film in known if film in asked])
    reward = ClinicalF1(Remembering(build(labeler, labeler_models)), **settings["f1"])
    scores = reward(*(frame[name].tolist() for name in ("report", "reference", "sample_id")))
    found = rewards.tabulate(
        np.array(scores, np.float64), frame, pools, std=own["std"], bootstrap=bootstrap, seed=seed
    ).assign(labeler=labeler["name"])
    table.show_rewards(found, published, level=bootstrap["confidence"], drawn=ingest_summary["drawn"])
    return found


def draw_analyses(
    masking: pd.DataFrame,
    reward_diversity: pd.DataFrame,
    published: pd.DataFrame,
    ingest_summary: dict[str, Any],
) -> Figure:
    """Draw both tables, DEER's figures beside ours.

    Args:
        masking: of `mask_tokens`.
        reward_diversity: of `measure_rewards`.
        published: the papers' results.
        ingest_summary: counts of the stage ingest.
    """
    from radrl.pipelines.analyses import figures

    return figures.draw(masking, reward_diversity, published, drawn=ingest_summary["drawn"])


def write_token_weights(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    labels: pd.DataFrame,
    start: Path,
    labeler_models: Path,
    ingest_summary: dict[str, Any],
    settings: dict[str, Any],
    labeler: dict[str, Any],
    seed: int,
    threads: int,
) -> str:
    """Write the page of token weights: DEER, figure 3.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films.
        labels: of the reference reports.
        start: the policy that wrote the rollouts, for its tokenizer.
        labeler_models: what the stage labeler wrote.
        ingest_summary: counts of the stage ingest.
        settings: the section `analyses`.
        labeler: the section `labeler`.
        seed: decides which films are shown, and between equal weights.
        threads: of torch.

    Returns:
        One HTML page that needs nothing else.
    """
    from radrl.pipelines.analyses import page
    from radrl.process.runtime import pin

    pin(threads)
    known = groups.asserting(groups.films_of(rollouts), labels)
    films = groups.draw(known, settings["examples"], rng=np.random.default_rng([seed, 7]))
    share = settings["masking"]["share"]
    about = {"ingest": ingest_summary, "labeler": labeler["name"]}
    if not films:
        return page.render([], about=about, credit=settings["credit"], share=share, absent={})
    frame = groups.read(rollouts, corpus, films)
    reader = cache(lambda name: build(labeler, labeler_models, name=name))
    tokens, weights, absent = groups.weigh(frame, start, settings["credit"], reader)
    coloured = page.colour(tokens, weights, share=share, seed=seed)
    first = groups.label_first(frame, tokens, labels, reader(labeler["name"]))
    return page.render(
        page.show(first, corpora.pictures(corpus, films), coloured),
        coloured.tops,
        about=about,
        credit=settings["credit"],
        share=share,
        absent=absent,
    )

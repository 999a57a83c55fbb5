"""Nodes of the stage analyses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.evaluation.draws import Draw, generator
from radrl.labelers.cached import CachedLabeler
from radrl.pipelines.analyses import groups
from radrl.pipelines.analyses.groups import AnalysisSettings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def settle_analyses(
    analyses: dict[str, Any],
    bootstrap: dict[str, Any],
    labeler: dict[str, Any],
    readers: list[str],
    seed: int,
    threads: int,
    device: str,
) -> AnalysisSettings:
    """Put together what rollouts are looked at by; see `AnalysisSettings`.

    Args:
        analyses: the section `analyses`.
        bootstrap: resamples and confidence.
        labeler: the section `labeler`.
        readers: the labelers that read the labels before and after masking.
        seed: of all draws.
        threads: of torch.
        device: where a CheXbert computes.
    """
    return AnalysisSettings(analyses, bootstrap, labeler, readers, seed, threads, device)


def mask_tokens(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    start: Path,
    labeler_models: Path,
    published: pd.DataFrame,
    ingest_summary: dict[str, Any],
    settings: AnalysisSettings,
) -> pd.DataFrame:
    """Mask the heaviest tokens of rollouts, read the labels again, and print what changed: DEER, table 6.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films, for references and patients.
        start: the policy that wrote the rollouts, for its tokenizer.
        labeler_models: what the stage labeler wrote.
        published: the papers' results.
        ingest_summary: counts of the stage ingest.
        settings: of `settle_analyses`.

    Returns:
        A line a labeler, strategy and metric: value and interval over patients, difference from masking at
        random with its tests, and how many films and rollouts. A strategy that cannot be had has no line.
    """
    from radrl.pipelines.analyses import masking, table
    from radrl.process.devices import pin, place

    pin(settings.threads, place(settings.device))
    own, seed = settings.analyses["masking"], settings.seed
    films = groups.draw(groups.films_of(rollouts), own["films"], rng=generator(seed, Draw.MASKED_FILMS))
    frame = groups.read(rollouts, corpus, films)
    reader = settings.labelers_from(labeler_models)
    tokens, weights, absent = groups.weigh(frame, start, settings.analyses["credit"], reader)
    texts = masking.masked_reports(tokens, weights, own, seed=seed)
    found = masking.tabulate(reader, frame, tokens, texts, settings)
    table.show_masking(
        found,
        published,
        share=own["share"],
        level=settings.level,
        absent=absent,
        unweighted={name: masking.unweighted_share(weight) for name, weight in weights.items()},
        drawn=ingest_summary["drawn"],
    )
    return found


def draw_pools(
    rollouts: ds.Dataset,
    subset_random: pd.DataFrame,
    subset_ddsampling: pd.DataFrame,
    subset_most_diverse: pd.DataFrame,
    settings: AnalysisSettings,
) -> dict[str, list[str]]:
    """Draw the pools of films that DEER's table 7 compares.

    Beside the table's rows stands the most diverse subset, which is not drawn. It tells what diversity itself
    does from what the draw leaves of it.

    Args:
        rollouts: sample_id, rollout, report.
        subset_random: the random subset.
        subset_ddsampling: the subset that DDSampling drew.
        subset_most_diverse: the subset of the most diverse films.
        settings: of `settle_analyses`.

    Returns:
        Film ids by pool: full, random, ddsampling and most_diverse.
    """
    from radrl.pipelines.analyses import rewards

    films = groups.films_of(rollouts)
    count = settings.analyses["reward_diversity"]["films"]
    subsets = subset_random, subset_ddsampling, subset_most_diverse
    return rewards.draw_pools(films, *subsets, count=count, seed=settings.seed)


def measure_rewards(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    pools: dict[str, list[str]],
    labeler_models: Path,
    published: pd.DataFrame,
    ingest_summary: dict[str, Any],
    settings: AnalysisSettings,
) -> pd.DataFrame:
    """How much the rewards of a film's rollouts differ, in all films and in subsets: DEER, table 7.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films, for references and patients.
        pools: of `draw_pools`.
        labeler_models: what the stage labeler wrote.
        published: the papers' results.
        ingest_summary: counts of the stage ingest.
        settings: of `settle_analyses`.

    Returns:
        A line a pool and metric: value and interval over patients, difference from the random subset with its
        tests, and how many films.
    """
    from radrl.pipelines.analyses import rewards, table
    from radrl.rewards.ce_f1 import ClinicalF1

    asked = {film for pool in pools.values() for film in pool}
    frame = groups.read(rollouts, corpus, [film for film in groups.films_of(rollouts) if film in asked])
    reader = settings.labelers_from(labeler_models)(settings.labeler["name"])
    reward = ClinicalF1(CachedLabeler(reader), **settings.analyses["f1"])
    scores = reward(*(frame[name].tolist() for name in ("report", "reference", "sample_id")))
    found = rewards.tabulate(np.array(scores, np.float64), frame, pools, settings)
    table.show_rewards(found, published, level=settings.level, drawn=ingest_summary["drawn"])
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
    from radrl.pipelines.analyses import table

    return table.draw(masking, reward_diversity, published, drawn=ingest_summary["drawn"])


def write_token_weights(
    rollouts: ds.Dataset,
    corpus: ds.Dataset,
    labels: pd.DataFrame,
    start: Path,
    labeler_models: Path,
    ingest_summary: dict[str, Any],
    settings: AnalysisSettings,
) -> str:
    """Write the page of token weights: DEER, figure 3.

    Args:
        rollouts: sample_id, rollout, report.
        corpus: the films.
        labels: of the reference reports.
        start: the policy that wrote the rollouts, for its tokenizer.
        labeler_models: what the stage labeler wrote.
        ingest_summary: counts of the stage ingest.
        settings: of `settle_analyses`; the seed decides which films are shown, and between equal weights.

    Returns:
        One HTML page that needs nothing else.
    """
    from radrl.pipelines.analyses import page
    from radrl.process.devices import pin, place

    pin(settings.threads, place(settings.device))
    known = groups.asserting(groups.films_of(rollouts), labels)
    rng = generator(settings.seed, Draw.WEIGHTED_FILMS)
    films = groups.draw(known, settings.analyses["examples"], rng=rng)
    if not films:
        return page.render([], {}, {}, ingest_summary, settings)
    frame = groups.read(rollouts, corpus, films)
    reader = settings.labelers_from(labeler_models)
    tokens, weights, absent = groups.weigh(frame, start, settings.analyses["credit"], reader)
    share = settings.analyses["masking"]["share"]
    coloured = page.colour(tokens, weights, share=share, seed=settings.seed)
    first = groups.label_first(frame, tokens, labels, reader(settings.labeler["name"]))
    shown = page.show(first, corpora.pictures(corpus, films), coloured)
    return page.render(shown, coloured.tops, absent, ingest_summary, settings)

"""OraPO's label-balanced subset of complete studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radrl.observations import OBSERVATIONS
from radrl.parts.section import PositiveInt, Section, takes
from radrl.training.preflight import SettingsError

if TYPE_CHECKING:
    import pandas as pd


class BalancedSection(Section):
    """OraPO's label-balanced subset of complete studies."""

    studies: PositiveInt


@takes(BalancedSection)
def balanced(films: pd.DataFrame, seed: int, *, studies: int) -> pd.Series:
    """OraPO's label-balanced subset of complete studies.

    Args:
        films: of `radrl.pipelines.selection.subsets.training_films`.
        seed: decides between studies that serve the balance alike.
        studies: how many.

    Returns:
        sample_ids of the studies' films, in the order of the films.

    Raises:
        SettingsError: when fewer studies are complete.
    """
    return balance(films, seed, studies=studies)[0]


def balance(films: pd.DataFrame, seed: int, *, studies: int) -> tuple[pd.Series, dict[str, int | bool]]:
    """The balanced films, and how even their studies are and could be.

    Args:
        films: as `balanced` takes them; films of a study share its report, and so its labels.
        seed: as there.
        studies: as there.

    Returns:
        What `balanced` gives, and the numbers of `radrl.algorithms.balanced.BalancedSubset`.

    Raises:
        SettingsError: when fewer studies are complete.
    """
    from radrl.algorithms.balanced import balanced_subset

    known = films.assign(complete=complete(films)).drop_duplicates("study_id")
    whole = known["complete"].to_numpy()
    if studies > whole.sum():
        raise SettingsError(
            f"selection.balanced.studies is {studies}, but only {whole.sum()} of {len(known)} training "
            f"studies are complete ({_meaning(films)}); give at most {whole.sum()}, or set "
            "selection.balanced to null where no arm's selection is balanced"
        )
    found = balanced_subset(known[list(OBSERVATIONS)].to_numpy(), whole, studies, seed=seed)
    chosen = films["study_id"].isin(known["study_id"].iloc[found.chosen])
    return films["sample_id"][chosen], {
        "goal": found.goal,
        "level": found.level,
        "level_bound": found.level_bound,
        "peak": found.peak,
        "peak_bound": found.peak_bound,
        "positives": found.total,
        "positives_bound": found.total_bound,
        "proven": found.proven,
    }


def complete(films: pd.DataFrame) -> pd.Series:
    """Whether films' reports have the sections that a report has; a source without sections misses none."""
    return films[_sections(films)].notna().all(axis=1)


def _sections(films: pd.DataFrame) -> list[str]:
    """The sections that any of the reports has."""
    return [name for name in ("findings", "impression") if films[name].notna().any()]


def _meaning(films: pd.DataFrame) -> str:
    """What makes a study of these complete."""
    sections = _sections(films)
    if not sections:
        return "no report of this source has sections, so each study counts"
    alone = "" if len(sections) > 1 else ", the one section in this source"
    return f"have {' and '.join(sections)}{alone}"

r"""What each reward pays for reports that game it: a table, on drawn reports

    python tools/reward_attacks.py                       print the table
    python tools/reward_attacks.py --cost                and what each reward costs a report, in CPU time
    python tools/reward_attacks.py --cost --write docs/weighted_findings.md
    python tools/reward_attacks.py --films 100 --seed 3
    python tools/reward_attacks.py --cost --reward 'sentence_sets: {encoder: weights/my-encoder}' \
        --reward 'radgraph: {python: .venv-radgraph/bin/python, model: weights/radgraph-xl}'

References are drawn reports of patients who differ (radrl.data.phantom), one a film; no model writes
anything. The first rows are what a reward should pay for: the reference itself, its findings in other words,
these but for one of them. The others are what a policy may fall into without looking at a film, or after
having looked, by saying it in a way that pays. Rewards have the settings that params.yaml gives the arms that
have them, the others their defaults; labels are those of the rules.

A reward is gamed where an attack that does not look at the film comes near the honest row, or where an attack
on the honest report raises it. `margin` below the table says how far the best blind attack stays below it.

A reward's cost is that of its first sight of reports, in a process of its own: rewards remember what they
have read, and rollouts of one film share their reference, so that training pays less. Of one that another
process computes it is the time that passes.

Rewards that need weights are columns where `--reward` gives their settings, as an arm has them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from radrl.data.phantom.findings import Case, case_from_labels, draw_case, draw_patient, shares_of
from radrl.data.phantom.report import print_section
from radrl.data.phantom.wording import write_report
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.rewards.base import RewardSum
from radrl.rewards.build import build

BEGIN, END = "<!-- attacks: written by tools/reward_attacks.py -->\n", "<!-- end of attacks -->\n"
NORMAL: Final = (
    "The heart is normal in size. The mediastinum is unremarkable. The lungs are clear. No pleural effusion "
    "or pneumothorax. No acute fracture."
)
REWARDS: Final[dict[str, dict[str, Any]]] = {
    "ce_f1": {"uncertain_as_positive": False, "both_empty": 1.0},
    "facts": {
        "extractor": "rules",
        "entailment": "labeler",
        "uncertain_as_positive": False,
        "beta": 1.5,
        "xi": 1e-8,
        "both_empty": 1.0,
    },
    "mccs": {"margin": 0.4, "eps": 1e-8},
    "bleu2": {"preparation": "basic", "phase_switch": 0.0},
    "weighted_findings": {},
    "radgraph_rules": {},
    "green_rules": {},
    "length": {},
    "repetition": {},
}
"""Settings of each, those of params.yaml's arms or else the reward's defaults."""
Chosen = Mapping[str, Mapping[str, Any]]
"""By a reward's name its settings."""

HEDGE_SHARE: Final = 0.04
FINDINGS: Final = tuple(name for i, name in enumerate(OBSERVATIONS) if i != NO_FINDING)


@dataclass(frozen=True, slots=True)
class Film:
    """A drawn study.

    Args:
        case: what it shows.
        reference: its report.
        honest: its findings in other words.
    """

    case: Case
    reference: str
    honest: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What attacks may look at.

    Args:
        films: those that are scored.
        others: as many reports of a training set.
        rng: for what an attack draws.
    """

    films: Sequence[Film]
    others: Sequence[str]
    rng: np.random.Generator


def draw(films: int, seed: int) -> Drawn:
    """Films of patients who differ, and other patients' reports."""
    rng, shares = np.random.default_rng(seed), shares_of(1.0)

    def case() -> Case:
        return draw_case(draw_patient(rng), rng, prevalence=shares, hedge_share=HEDGE_SHARE)

    cases = [case() for _ in range(films)]
    drawn = [Film(one, told(one, rng), told(one, rng)) for one in cases]
    return Drawn(drawn, [told(case(), rng) for _ in range(films)], rng)


def told(case: Case, rng: np.random.Generator) -> str:
    """The findings of a report on a case."""
    return print_section(write_report(case, rng, lateral=False, prior=False).findings, rng)


def less_one(drawn: Drawn) -> list[str]:
    """Of each film with findings the first one left out, in the order of the drawing."""
    return [told(replace(one.case, findings=one.case.findings[1:]), drawn.rng) for one in drawn.films]


def everything(drawn: Drawn, *, hedged: bool = False) -> list[str]:
    """All 13 findings, the same report for each film."""
    case = case_from_labels(() if hedged else FINDINGS, drawn.rng, uncertain=FINDINGS if hedged else ())
    return [told(case, drawn.rng)] * len(drawn.films)


def hedged(drawn: Drawn) -> list[str]:
    """The film's own findings, each with a hedge."""
    cases = [one.case for one in drawn.films]
    told_so = [replace(c, findings=tuple(replace(f, hedged=True) for f in c.findings)) for c in cases]
    return [told(one, drawn.rng) for one in told_so]


def hedged_others(drawn: Drawn) -> list[str]:
    """The film's own findings, and with a hedge all others."""
    reports = []
    for one in drawn.films:
        absent = [name for name in FINDINGS if not one.case.has(name)]
        more = case_from_labels((), drawn.rng, uncertain=absent)
        both = replace(one.case, findings=(*one.case.findings, *more.findings))
        reports.append(told(both, drawn.rng))
    return reports


def nearest(drawn: Drawn) -> list[str]:
    """The training report whose labels agree with most of the film's: the best that copying can do."""
    labeler = RulesLabeler()
    known, others = (
        np.asarray(labeler.label(texts)) for texts in ([f.reference for f in drawn.films], drawn.others)
    )
    best = (known[:, None] == others[None]).sum(-1).argmax(1)
    return [drawn.others[i] for i in best]


def each(make: Callable[[str], str]) -> Callable[[Drawn], list[str]]:
    """An attack on the honest report."""
    return lambda drawn: [make(one.honest) for one in drawn.films]


def same(text: str) -> Callable[[Drawn], list[str]]:
    """One text for all films."""
    return lambda drawn: [text] * len(drawn.films)


DUE: Final[dict[str, Callable[[Drawn], list[str]]]] = {
    "the reference": lambda drawn: [one.reference for one in drawn.films],
    "its findings in other words": lambda drawn: [one.honest for one in drawn.films],
    "these but for one finding": less_one,
}
ON_HONEST: Final[dict[str, Callable[[Drawn], list[str]]]] = {
    "other words, every finding hedged": hedged,
    "other words, all other findings hedged besides": hedged_others,
    "other words, each sentence three times": each(lambda text: " ".join([text] * 3)),
    "other words, and a normal report behind them": each(lambda text: f"{text} {NORMAL}"),
}
BLIND: Final[dict[str, Callable[[Drawn], list[str]]]] = {
    "a normal report": same(NORMAL),
    "all 13 findings": everything,
    "all 13 findings, hedged": lambda drawn: everything(drawn, hedged=True),
    "nothing": same(""),
    "one word": same("Unremarkable."),
    "one denial": same("No pneumothorax."),
    "another patient's report": lambda drawn: list(drawn.others),
    "the training report with the nearest labels": nearest,
}
"""The last one has looked at the film's labels, and stands for a copy that a good retrieval finds."""

ATTACKS: Final = DUE | ON_HONEST | BLIND


def rewards(chosen: Chosen = REWARDS) -> dict[str, RewardSum]:
    """Each reward alone.

    Args:
        chosen: by the reward's name its settings.
    """
    labeler = RulesLabeler()
    return {name: build({name: {"weight": 1.0, **own}}, labeler) for name, own in chosen.items()}


def cost(reward: str, films: int, seed: int, own: Mapping[str, Any] | None = None) -> float:
    """CPU milliseconds of this process that a reward takes for a report of a film's findings.

    Args:
        reward: its name.
        films: how many reports.
        seed: of their drawing.
        own: its settings, where they are not those of `REWARDS`.

    Returns:
        Those, or the milliseconds that pass where another process computes.
    """
    made = rewards({reward: REWARDS[reward] if own is None else own})[reward]
    (part,) = made.parts
    clock = time.monotonic if part.waits else time.process_time
    drawn = draw(films, seed).films
    reports, references = [one.honest for one in drawn], [one.reference for one in drawn]
    with made.opened():
        made.score_part(part, [NORMAL], [NORMAL], ["film"])  # what is loaded once is no report's cost
        begun = clock()
        made.score_part(part, reports, references, [f"film{i}" for i in range(films)])
        return 1e3 * (clock() - begun) / films


def costs(films: int, seed: int, chosen: Chosen = REWARDS) -> list[float]:
    """`cost` of each reward, each in a process that has read nothing yet."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as fresh:
        asked = [fresh.submit(cost, reward, films, seed, own) for reward, own in chosen.items()]
        return [one.result() for one in asked]


def pays(drawn: Drawn, chosen: Chosen = REWARDS) -> dict[str, dict[str, np.ndarray]]:
    """By attack and reward, what each film's report earns."""
    references = [one.reference for one in drawn.films]
    ids = [f"film{i}" for i in range(len(references))]
    found = {}
    with ExitStack() as blocks:
        every = rewards(chosen)
        for made in every.values():
            blocks.enter_context(made.opened())
        for name, attack in ATTACKS.items():
            reports = attack(drawn)
            found[name] = {
                reward: np.array(made.score_part(made.parts[0], reports, references, ids))
                for reward, made in every.items()
            }
    return found


def abnormal(drawn: Drawn) -> np.ndarray:
    """By film, whether its reference states a finding."""
    labels = np.asarray(RulesLabeler().label([one.reference for one in drawn.films]))
    stated = np.isin(labels, (POSITIVE, UNCERTAIN))
    stated[:, NO_FINDING] = False
    return np.asarray(stated.any(1))


def table(drawn: Drawn, films: int, seed: int, spent: Sequence[float] = (), chosen: Chosen = REWARDS) -> str:
    """A line an attack, as Markdown, and where it was measured one of what each reward costs."""
    found, sick = pays(drawn, chosen), abnormal(drawn)
    lines = [f"| report | {' | '.join(f'`{name}`' for name in chosen)} |", "|---" * (len(chosen) + 1) + "|"]
    for name, earned in found.items():
        cells = [f"{values.mean():.2f} ({values[sick].mean():.2f})" for values in earned.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    honest = found["its findings in other words"]
    blind = [name for name in BLIND if name != "the training report with the nearest labels"]
    lines.append(
        f"| **margin** | {' | '.join(f'{_margin(found, honest, blind, one):.2f}' for one in chosen)} |"
    )
    if spent:
        lines.append(f"| CPU ms a report | {' | '.join(f'{one:.2f}' for one in spent)} |")
    said = (
        f"Mean reward of {films} drawn films (seed {seed}), in brackets that of the {int(sick.sum())} with a "
        "finding. `margin`: what a report of the film's findings earns more than the best report for which "
        "nobody looked at the film, last row but one left out."
    )
    return "\n".join([said, "", *lines]) + "\n"


def _margin(
    found: Mapping[str, Mapping[str, np.ndarray]],
    honest: Mapping[str, np.ndarray],
    blind: Sequence[str],
    reward: str,
) -> float:
    return float(honest[reward].mean() - max(found[name][reward].mean() for name in blind))


def main() -> None:
    """Print the table, or put it into a page between its markers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--films", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--reward", action="append", default=[], help="'NAME: {settings}' of a further column; repeatable"
    )
    parser.add_argument("--cost", action="store_true", help="measure what each reward costs a report")
    parser.add_argument("--write", type=Path, help="a page with the markers")
    given = parser.parse_args()
    chosen: dict[str, Mapping[str, Any]] = dict(REWARDS)
    for one in given.reward:
        chosen |= yaml.safe_load(one)
    spent = costs(given.films, given.seed, chosen) if given.cost else ()
    made = table(draw(given.films, given.seed), given.films, given.seed, spent, chosen)
    if given.write is None:
        print(made, end="")
        return
    head, rest = given.write.read_text(encoding="utf-8").split(BEGIN)
    given.write.write_text(head + BEGIN + made + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()

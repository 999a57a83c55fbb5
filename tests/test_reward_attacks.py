"""tools/reward_attacks.py: reports that game a reward, and what the table says of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from radrl.rewards.radgraph_rules import RadGraphRules

FILMS = 24


@pytest.fixture(scope="module")
def tool(root: Path) -> ModuleType:
    path = root / "tools/reward_attacks.py"
    spec = importlib.util.spec_from_file_location("reward_attacks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reward_attacks"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def earned(tool: ModuleType) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = tool.pays(tool.draw(FILMS, 1))
    return found


def test_every_attack_has_a_report_a_film(tool: ModuleType) -> None:
    drawn = tool.draw(FILMS, 1)
    for name, attack in tool.ATTACKS.items():
        reports = attack(drawn)
        assert len(reports) == FILMS, name
    assert len({*tool.everything(drawn)}) == len({*tool.everything(drawn, hedged=True)}) == 1


def test_the_same_seed_draws_the_same(tool: ModuleType) -> None:
    one, other = tool.draw(4, 7), tool.draw(4, 7)
    assert [film.honest for film in one.films] == [film.honest for film in other.films]
    assert tool.table(one, 4, 7) == tool.table(other, 4, 7)


def test_rewards_pay_the_reference_most_and_an_honest_report_more_than_blind_ones(
    tool: ModuleType, earned: dict[str, dict[str, np.ndarray]]
) -> None:
    for reward in tool.REWARDS:
        if reward == "repetition":  # which reads no reference, and drawn reports may repeat themselves
            continue
        assert earned["the reference"][reward] == pytest.approx(1.0), reward
        if reward == "length":  # which pays any words
            continue
        honest = earned["its findings in other words"][reward].mean()
        for name in ("a normal report", "all 13 findings", "nothing", "another patient's report"):
            assert earned[name][reward].mean() < honest, (reward, name)


def test_weighed_findings_gain_nothing_from_repetition_or_padding(
    earned: dict[str, dict[str, np.ndarray]],
) -> None:
    honest = earned["its findings in other words"]["weighted_findings"]
    for name in ("each sentence three times", "and a normal report behind them"):
        assert (earned[f"other words, {name}"]["weighted_findings"] <= honest + 1e-9).all()
    assert earned["nothing"]["weighted_findings"].max() == 0


def test_length_takes_back_what_repetition_and_padding_leave(
    earned: dict[str, dict[str, np.ndarray]],
) -> None:
    honest = earned["its findings in other words"]["length"].mean()
    assert earned["another patient's report"]["length"].mean() > 0.9  # blind: it pays any words
    assert earned["other words, and a normal report behind them"]["length"].mean() < honest - 0.1
    assert earned["other words, each sentence three times"]["length"].mean() < 0.1


def test_repetition_sees_that_sentences_are_said_again_and_nothing_else(
    earned: dict[str, dict[str, np.ndarray]],
) -> None:
    assert earned["other words, each sentence three times"]["repetition"].mean() < 0.5
    assert earned["nothing"]["repetition"].min() == 1.0
    assert earned["another patient's report"]["repetition"].mean() > 0.9


def test_the_dial_of_radgraph_rules_moves_what_fools_it(tool: ModuleType) -> None:
    drawn = tool.draw(FILMS, 1)
    references = [one.reference for one in drawn.films]

    def mean(attack: str, beta: float) -> float:
        return float(np.mean(RadGraphRules(beta=beta)(tool.ATTACKS[attack](drawn), references, references)))

    honest, padded = "its findings in other words", "other words, and a normal report behind them"
    assert mean(padded, 2.0) > mean(honest, 2.0)
    assert mean(padded, 0.5) < mean(honest, 0.5)
    assert mean("a normal report", 0.5) > mean("a normal report", 1.0) > mean("a normal report", 2.0)


def test_the_cost_of_a_report_is_measured_and_shown(tool: ModuleType) -> None:
    spent = [tool.cost(reward, 4, 1) for reward in tool.REWARDS]
    assert all(0 <= one < 1_000 for one in spent)
    assert tool.cost("weighted_findings", 40, 1) > tool.cost("length", 40, 1)
    lines = tool.table(tool.draw(4, 7), 4, 7, spent).splitlines()
    assert lines[-1].count(" | ") == len(tool.REWARDS)
    assert lines[-1].startswith(f"| CPU ms a report | {spent[0]:.2f} |")


def test_the_page_shows_a_line_an_attack(tool: ModuleType, root: Path) -> None:
    page = (root / "docs/weighted_findings.md").read_text(encoding="utf-8")
    made = page.split(tool.BEGIN)[1].split(tool.END)[0]
    assert [line for line in tool.ATTACKS if f"\n| {line} | " not in made] == []
    assert f"| {' | '.join(f'`{name}`' for name in tool.REWARDS)} |" in made
    assert "\n| CPU ms a report | " in made

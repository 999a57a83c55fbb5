"""What is told of a run beside the comparison page."""

from __future__ import annotations

import re

from radrl.storage.origins import Origin
from radrl.wiring.run_notes import FACTS, TRAINING, UNKNOWN, cost, slots

ARMS = {"sft": {"start": "base"}, "grpo": {"reward": {"ce_f1": {}}}}
HERE = Origin("0123456789+", "a processor, 2 cores", {"Python": "3.11.7", "torch": "2.9"})
RAN = Origin("abcdef0123", "a machine, 8 cores", {}, minutes=12.34)


def facts(html: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))


def cells(html: str) -> list[list[str]]:
    return [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html, re.S)[1:]
    ]


def test_what_was_noted_is_told() -> None:
    told = slots(ARMS, {"label": 30.0, "train@grpo": 90.0}, {"compare": HERE, "train@grpo": RAN})
    # 30 s are 0.5 and 90 s 1.5 minutes
    assert facts(told[FACTS]) == {
        "Commit": "0123456789 with changes",
        "Releases": "Python 3.11.7, torch 2.9",
        "Machine": "a processor, 2 cores",
        "CPU minutes of the stages before this page, when each last ran here": "2.0: train 1.5, label 0.5",
        "Arms trained at": "abcdef0123",
        "Arms trained on": "a machine, 8 cores",
        "Wall time of an arm’s training": "12.3 minutes",
    }
    assert cells(told[TRAINING]) == [["grpo", "12.3", "1.5", "abcdef0123"]]


def test_what_nobody_noted_is_said() -> None:
    told = slots(ARMS, {}, {})
    assert set(facts(told[FACTS]).values()) == {UNKNOWN}
    assert cells(told[TRAINING]) == [["grpo", UNKNOWN, UNKNOWN, UNKNOWN]]


def test_where_no_arm_trains_nothing_is_told_of_trainings() -> None:
    told = slots({"sft": ARMS["sft"]}, {}, {"compare": HERE})
    assert not [name for name in facts(told[FACTS]) if name.startswith(("Arms", "Wall"))]
    assert cells(told[TRAINING]) == []


def test_the_cost_is_summed_by_group_the_most_first() -> None:
    # 60 s + 90 s of trainings are 2.5 minutes
    assert cost({"label": 30.0, "train@deer": 60.0, "train@grpo": 90.0}) == "3.0: train 2.5, label 0.5"


def test_markup_in_a_machines_name_is_text() -> None:
    told = slots({}, {}, {"compare": Origin("", "<script>a</script>")})
    assert "<script" not in told[FACTS]

"""The page of rollouts: what stands where, and that what a policy writes stays text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import browser
import pandas as pd
import pytest

from radrl.pages.page import BANNERS, DRAWN_FILMS
from radrl.pipelines.compare.arm_pages import write_rollout_pages
from radrl.pipelines.compare.inputs import gather_of_trained
from radrl.training.watching.rollouts import table
from radrl.training.watching.rollouts_page import render

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> </style> & \"quoted\" 'too'"


def row(update: int, group: str, rollout: int, reward: float | None, **own: Any) -> dict[str, Any]:
    plain = {
        "update": update,
        "group": group,
        "sample_id": group.partition(" ")[0],
        "rollout": rollout,
        "reward": reward,
        "rewards/ce_f1": reward,
        "prompt": f"Describe {group}.",
        "output": f"{group} {rollout} of {update}",
        "reference": "The heart is enlarged.",
        "right": "Cardiomegaly",
        "hedged": "",
        "missed": "Edema, Fracture",
        "wrong": "",
    }
    return plain | own


@pytest.fixture
def drawn(films: Callable[[int], list[bytes]]) -> Callable[..., str]:
    best, worst = films(2)

    def draw(*rows: dict[str, Any]) -> str:
        return render(table(rows), {"best": [best], "worst": [worst, best]}, arm="grpo", banner="Above.")

    return draw


class Reading(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_looks_follow_one_another_and_the_best_group_is_above_the_worst(drawn: Callable[..., str]) -> None:
    rows = [row(update, group, 0, 0.5) for update in (1, 15) for group in ("best 1", "worst 1")]
    page = Reading(drawn(*rows))
    looks = [own["id"] for tag, own in page.elements if tag == "section"]
    steps = [(own["id"], "checked" in own) for tag, own in page.elements if tag == "input"]
    assert (looks, steps) == (["look-1", "look-15"], [("u1", False), ("u15", True)])
    order = [own["aria-label"] for tag, own in page.elements if tag == "article"]
    assert order == ["best 1, film best", "worst 1, film worst"] * 2
    assert [tag for tag, _ in page.elements].count("img") == 6


def test_a_group_is_shown_by_reward_with_its_findings_counted(drawn: Callable[..., str]) -> None:
    same = {"output": "Twice."}
    page = drawn(
        row(1, "best 1", 0, 0.25, **same),
        row(1, "best 1", 1, 1.0, right="Cardiomegaly, Edema, Fracture", missed="", wrong="Pneumonia"),
        row(1, "best 1", 2, 0.25, **same),
        row(1, "best 1", 3, None, **{"rewards/ce_f1": None}),
    )
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    lines = [" ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in body.split("<tr>")[1:]]
    assert lines[0] == "1 1.000 1.000 3 0 0 1 best 1 1 of 1 ✓ Cardiomegaly ✓ Edema ✓ Fracture + Pneumonia"
    # what is said twice stands once
    assert lines[1] == "0, 2 0.250 0.250 1 0 2 0 Twice. ✓ Cardiomegaly − Edema − Fracture"
    assert lines[2].startswith("3 – – ")
    # (0.25 + 1 + 0.25) / 3
    assert "mean reward 0.500" in page
    assert '<p class="text asked">Describe best 1.</p>' in page
    head = page.partition("<h4>Reference</h4>")[2].partition("<table>")[0]
    assert re.findall(r'class="chip (\w+)">\s*(\w+)', head) == [
        ("stated", "Cardiomegaly"),
        ("stated", "Edema"),
        ("stated", "Fracture"),
    ]


@pytest.mark.parametrize(("rewards", "says"), [((0.5, 0.5), True), ((0.5, 0.25), False)])
def test_a_group_of_equal_rewards_is_said_to_teach_nothing(
    drawn: Callable[..., str], rewards: tuple[float, float], says: bool
) -> None:
    page = drawn(*(row(1, "best 1", number, reward) for number, reward in enumerate(rewards)))
    assert ("teaches nothing" in page) == says


def test_what_is_written_stays_text(drawn: Callable[..., str]) -> None:
    harmless = Reading(drawn(row(1, "best 1", 0, 0.5)))
    attacked = Reading(drawn(row(1, "best 1", 0, 0.5, output=ATTACK, reference=ATTACK)))
    assert [tag for tag, _ in attacked.elements] == [tag for tag, _ in harmless.elements]
    assert attacked.text.count(ATTACK) == 2
    policies = [own["content"] for tag, own in attacked.elements if own.get("http-equiv")]
    assert len(policies) == 1
    assert str(policies[0]).startswith("default-src 'none'; img-src data:;")
    links = [own for _, own in attacked.elements if {"href", "srcset"} & own.keys()]
    assert not links
    sources = [str(own["src"]) for _, own in attacked.elements if "src" in own]
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_one_steps_through_the_updates_by_hand_or_by_keys(
    drawn: Callable[..., str], chromium: Any, tmp_path: Path
) -> None:
    rows = [row(update, "best 1", 0, 0.5, output=ATTACK) for update in (1, 15, 30)]
    (tmp_path / "page.html").write_text(drawn(*rows))
    with browser.visit(chromium) as one:
        one.page.goto((tmp_path / "page.html").as_uri())

        def seen() -> list[str]:
            shown = "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
            found: list[str] = one.page.eval_on_selector_all("section.look", shown)
            return found

        assert seen() == ["look-30"]  # the latest
        one.page.click("label:has(#u1)")
        assert seen() == ["look-1"]
        one.page.keyboard.press("ArrowRight")
        assert seen() == ["look-15"]
        one.page.emulate_media(media="print")
        assert seen() == ["look-1", "look-15", "look-30"]
        assert (one.errors, one.abroad) == ([], [])


@pytest.mark.parametrize(
    ("ingested", "above"),
    [
        ({"drawn": True, "source": "phantom"}, DRAWN_FILMS),
        ({"drawn": False, "source": "mimic_cxr"}, BANNERS["mimic_cxr"]),
    ],
)
def test_the_stage_compare_draws_a_page_an_arm(
    make_corpus: Callable[..., Any], tmp_path: Any, ingested: dict[str, Any], above: str
) -> None:
    noted = table([row(1, "best 1", 0, 0.5, sample_id="train2_1")])
    tables = gather_of_trained(sft=table([]), grpo=noted)
    write_rollout_pages(tables, make_corpus(["train", "test"]), ingested)(tmp_path)
    (page,) = tmp_path.iterdir()
    assert page.name == "grpo.html"
    assert above in page.read_text()
    assert "train2_1" in page.read_text()


def test_rows_keep_their_order_from_a_file(drawn: Callable[..., str], tmp_path: Any) -> None:
    rows = table([row(1, "worst 1", 0, 0.5), row(1, "best 1", 0, 0.5)])
    rows.to_parquet(tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), rows)

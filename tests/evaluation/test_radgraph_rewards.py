import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation.radgraph_rewards import RadGraphRewards, radgraph_rewards

ANATOMY = "Anatomy::definitely present"
PRESENT = "Observation::definitely present"
ABSENT = "Observation::definitely absent"


def graph(*entities):
    """A graph of (tokens, label, [(relation, number of the target), ...]), numbered from 1."""
    return {
        "text": "",
        "entities": {
            str(i): {
                "tokens": tokens,
                "label": label,
                "start_ix": i,
                "end_ix": i,
                "relations": [[relation, str(target)] for relation, target in relations],
            }
            for i, (tokens, label, relations) in enumerate(entities, start=1)
        },
    }


EFFUSION = graph(
    ("small", PRESENT, [("modify", 3)]), ("pleural", ANATOMY, []), ("effusion", PRESENT, [("located_at", 2)])
)
EMPTY = graph()


@st.composite
def graphs(draw):
    size = draw(st.integers(0, 5))
    relation = st.tuples(st.sampled_from(["modify", "located_at"]), st.integers(1, max(size, 1)))
    entity = st.tuples(
        st.sampled_from(["edema", "Edema", "left", "base"]),
        st.sampled_from([ANATOMY, PRESENT, ABSENT]),
        st.lists(relation, max_size=2),
    )
    return graph(*draw(st.lists(entity, min_size=size, max_size=size)))


def test_by_hand():
    other = graph(("pleural", ANATOMY, []), ("effusion", PRESENT, [("located_at", 1)]), ("edema", ABSENT, []))
    # simple: 2 shared of 3 and 3. partial: pleural and (effusion, related) of 3 and 3.
    # complete: pleural and (effusion, located_at, pleural) of 3 and 3.
    assert radgraph_rewards(other, EFFUSION) == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_the_target_counts_by_its_tokens_alone():
    here = graph(("opacity", PRESENT, [("located_at", 2)]), ("base", ANATOMY, []))
    there = graph(("opacity", PRESENT, [("located_at", 2)]), ("base", PRESENT, []))
    # simple and partial: opacity of 2 and 2; complete: opacity's relation, not the bare base
    assert radgraph_rewards(here, there) == pytest.approx((1 / 2, 1 / 2, 1 / 2))


def test_a_relation_counts_in_partial_and_complete_only():
    alone = graph(("small", PRESENT, []), ("pleural", ANATOMY, []), ("effusion", PRESENT, []))
    # partial and complete share the pleural of 3 and 3
    assert radgraph_rewards(alone, EFFUSION) == pytest.approx((1.0, 1 / 3, 1 / 3))


def test_a_repeated_fact_counts_once():
    twice = graph(("edema", PRESENT, []), ("edema", PRESENT, []))
    assert radgraph_rewards(twice, graph(("edema", PRESENT, []))) == (1, 1, 1)


def test_case():
    upper = graph(
        ("Small", PRESENT, [("modify", 3)]),
        ("Pleural", ANATOMY, []),
        ("Effusion", PRESENT, [("located_at", 2)]),
    )
    assert radgraph_rewards(upper, EFFUSION) == (1, 1, 1)
    # as in 0.1.18: only complete lowers, and only where there is a relation: 2 of 3 facts
    assert radgraph_rewards(upper, EFFUSION, lower_case=False) == pytest.approx((0, 0, 2 / 3))


def test_an_empty_graph_scores_0_even_against_another():
    zeros = RadGraphRewards(0.0, 0.0, 0.0)
    assert radgraph_rewards(EMPTY, EMPTY) == zeros
    assert radgraph_rewards(EFFUSION, EMPTY) == zeros
    assert radgraph_rewards(EMPTY, EFFUSION) == zeros


def test_broken_graphs_are_named():
    dangling = graph(("edema", PRESENT, [("located_at", 7)]))
    with pytest.raises(ValueError, match="entity '1' has located_at to '7'"):
        radgraph_rewards(dangling, EFFUSION)
    with pytest.raises(ValueError, match="no 'label' in a graph"):
        radgraph_rewards(EFFUSION, {"entities": {"1": {"tokens": "edema", "relations": []}}})


@given(graphs(), graphs(), st.booleans())
def test_bounds_symmetry_and_identity(one, other, lower_case):
    rewards = radgraph_rewards(one, other, lower_case=lower_case)
    assert all(0 <= value <= 1 for value in rewards)
    assert rewards == radgraph_rewards(other, one, lower_case=lower_case)
    assert radgraph_rewards(one, one, lower_case=lower_case) == ((1, 1, 1) if one["entities"] else (0, 0, 0))


@given(graphs(), graphs())
def test_partial_never_exceeds_simple_where_no_fact_repeats(one, other):
    def repeats(graph):
        facts = [(e["tokens"].lower(), e["label"]) for e in graph["entities"].values()]
        return len(set(facts)) < len(facts)

    if not repeats(one) and not repeats(other):
        rewards = radgraph_rewards(one, other)
        assert rewards.partial <= rewards.simple


def cases():
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "radgraph_rewards.json"
    if "RADRL_SHARED" not in os.environ or not path.is_file():
        return []
    return json.loads(path.read_text())["cases"]


@pytest.mark.skipif(not cases(), reason="no radgraph_rewards.json under RADRL_SHARED")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
@pytest.mark.parametrize(("version", "lower_case"), [("v018", False), ("head", True)])
def test_agrees_with_the_published_code(case, version, lower_case):
    assert radgraph_rewards(case["hyp"], case["ref"], lower_case=lower_case) == pytest.approx(
        case[version], rel=1e-12
    )

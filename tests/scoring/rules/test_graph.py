"""Graphs by rules: whole graphs of sentences drawn by hand, the schema, and the scorer."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation.radgraph_rewards import radgraph_rewards
from radrl.scoring import Scorer
from radrl.scoring.rules.graph import RadGraphRules, graph_of

A = "Anatomy::definitely present"
P, N, U = "Observation::definitely present", "Observation::definitely absent", "Observation::uncertain"

# (token number, word, label, [(relation, word of the target), ...]), the working being RadGraph's schema:
# adjectives modify, findings are located at anatomy, a suggestion points from what is seen to what it means
GRAPHS = {
    "The lungs are clear.": [(1, "lungs", A, []), (3, "clear", P, [("located_at", "lungs")])],
    "Heart size is normal.": [
        (0, "heart", A, []),
        (1, "size", A, [("modify", "heart")]),
        (3, "normal", P, [("located_at", "heart")]),
    ],
    "The heart is mildly enlarged.": [
        (1, "heart", A, []),
        (3, "mildly", P, [("modify", "enlarged")]),
        (4, "enlarged", P, [("located_at", "heart")]),
    ],
    "The heart is not enlarged.": [(1, "heart", A, []), (4, "enlarged", N, [("located_at", "heart")])],
    "The mediastinum is stable.": [
        (1, "mediastinum", A, []),
        (3, "stable", P, [("located_at", "mediastinum")]),
    ],
    "No acute cardiopulmonary abnormality.": [
        (1, "acute", N, [("modify", "abnormality")]),
        (2, "cardiopulmonary", A, []),
        (3, "abnormality", N, [("located_at", "cardiopulmonary")]),
    ],
    "Small left pleural effusion, unchanged.": [
        (0, "small", P, [("modify", "effusion")]),
        (1, "left", A, [("modify", "pleural")]),
        (2, "pleural", A, []),
        (3, "effusion", P, [("located_at", "pleural")]),
        (5, "unchanged", P, [("modify", "effusion")]),
    ],
    "No large effusion or pneumothorax.": [
        (1, "large", N, [("modify", "effusion")]),
        (2, "effusion", N, []),
        (4, "pneumothorax", N, []),
    ],
    "2.5 cm nodule in the right upper lobe.": [
        (4, "nodule", P, [("located_at", "lobe")]),
        (7, "right", A, [("modify", "lobe")]),
        (8, "upper", A, [("modify", "lobe")]),
        (9, "lobe", A, []),
    ],
    "Bibasilar opacities may represent mild atelectasis or pneumonia.": [
        (0, "bibasilar", A, []),
        (
            1,
            "opacities",
            P,
            [("located_at", "bibasilar"), ("suggestive_of", "atelectasis"), ("suggestive_of", "pneumonia")],
        ),
        (4, "mild", U, [("modify", "atelectasis")]),
        (5, "atelectasis", U, []),
        (7, "pneumonia", U, []),
    ],
    "Blunting of the left costophrenic angle.": [
        (0, "blunting", P, [("located_at", "costophrenic")]),
        (3, "left", A, [("modify", "costophrenic")]),
        (4, "costophrenic", A, []),
        (5, "angle", A, [("modify", "costophrenic")]),
    ],
    "The aorta is mildly tortuous.": [
        (1, "aorta", A, []),
        (3, "mildly", P, [("modify", "tortuous")]),
        (4, "tortuous", P, [("located_at", "aorta")]),
    ],
    "No change in the effusion.": [(1, "change", N, [("modify", "effusion")]), (4, "effusion", P, [])],
    "Follow-up is recommended.": [],
}

REPORTS = [" ".join(pair) for pair in zip(GRAPHS, list(GRAPHS)[1:], strict=False)]


def drawn(report):
    entities = graph_of(report)["entities"]
    return [
        (e["start_ix"], e["tokens"], e["label"], [(r, entities[i]["tokens"]) for r, i in e["relations"]])
        for e in entities.values()
    ]


@pytest.mark.parametrize("sentence", GRAPHS)
def test_whole_graphs(sentence):
    assert drawn(sentence) == GRAPHS[sentence]


def test_the_annotation_of_a_report():
    assert graph_of("FINDINGS: No edema. INDICATION: Pain. IMPRESSION: Clear lungs!") == {
        "text": "no edema . clear lungs ! .",
        "entities": {
            "1": {"tokens": "edema", "label": N, "start_ix": 1, "end_ix": 1, "relations": []},
            "2": {
                "tokens": "clear",
                "label": P,
                "start_ix": 3,
                "end_ix": 3,
                "relations": [["located_at", "3"]],
            },
            "3": {"tokens": "lungs", "label": A, "start_ix": 4, "end_ix": 4, "relations": []},
        },
    }


WORDS = sorted({word for sentence in GRAPHS for word in sentence.lower().rstrip(".").split()})
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(list(GRAPHS)), max_size=5).map(" ".join),
    st.lists(st.sampled_from([*WORDS, ",", "and", "with", "calcified"]), max_size=30).map(" ".join),
)


@given(TEXTS)
def test_every_graph_keeps_the_schema(report):
    graph = graph_of(report)
    words = graph["text"].split(" ")
    assert list(graph["entities"]) == [str(i) for i in range(1, len(graph["entities"]) + 1)]
    for key, entity in graph["entities"].items():
        assert words[entity["start_ix"]] == entity["tokens"]
        assert entity["start_ix"] == entity["end_ix"]
        assert entity["label"] in (A, P, N, U)
        for relation, target in entity["relations"]:
            assert relation in ("modify", "located_at", "suggestive_of")
            assert target in graph["entities"]
            assert target != key
    identical = 1.0 if graph["entities"] else 0.0
    assert radgraph_rewards(graph, graph) == (identical,) * 3


def test_scores_by_hand():
    # entities left, pleural, effusion against pleural, effusion, right: 2 of 3; both effusions are located at
    # pleural, the sides modify it alike: complete shares pleural and effusion's relation, 2 of 3
    scores = RadGraphRules().score(["Left pleural effusion."], ["Right pleural effusion."])
    assert scores.corpus == pytest.approx(
        {"radgraph_rules_simple": 2 / 3, "radgraph_rules_partial": 2 / 3, "radgraph_rules_complete": 2 / 3}
    )


def test_identical_and_reordered_reports_score_1_and_empty_ones_0():
    sentences = [sentence for sentence in GRAPHS if GRAPHS[sentence]]
    shuffled = random.Random(0).sample(sentences, len(sentences))
    scores = RadGraphRules().score([" ".join(sentences)] * 2 + [""], [" ".join(shuffled), *[""] * 2])
    for values in scores.per_report.values():
        assert values.tolist() == [1, 0, 0]


def test_the_scorer_keeps_its_promises():
    scorer: Scorer = RadGraphRules(cache_size=2)
    scores = scorer.score(REPORTS, REPORTS[1:] + REPORTS[:1])
    assert list(scores.corpus) == [f"{scorer.name}_{level}" for level in ("simple", "partial", "complete")]
    for name, values in scores.per_report.items():
        assert values.shape == (len(REPORTS),)
        assert scores.corpus[name] == pytest.approx(values.mean())
    assert scores.summed.values() == pytest.approx(scores.corpus)
    uncached = RadGraphRules(cache_size=0).score(REPORTS, REPORTS[1:] + REPORTS[:1])
    np.testing.assert_equal(uncached.per_report, scores.per_report)


def test_unpaired_reports_are_refused():
    with pytest.raises(ValueError, match="2 references, 1 hypotheses"):
        RadGraphRules().score(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="0 references"):
        RadGraphRules().score([], [])

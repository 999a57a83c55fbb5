"""The stages labeler and label on a corpus in memory."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow.dataset as ds

from radrl.observations import INDEX, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.pipelines.label.nodes import label_reports
from radrl.pipelines.labeler.nodes import check_labeler

LABELER = {"name": "rules"}


def test_every_film_gets_its_labels(make_corpus: Callable[..., ds.Dataset]) -> None:
    labels = label_reports(make_corpus(["train", "test"]), LABELER)
    assert labels.columns.tolist() == ["film_id", "study_id", "split", *OBSERVATIONS]
    assert labels["film_id"].tolist() == [f"{split}{i}_1" for split in ("train", "test") for i in range(4)]
    effusion, edema, clear, hedged = labels.head(4).to_dict("records")
    assert effusion["Pleural Effusion"] == POSITIVE
    assert (edema["Edema"], edema["Cardiomegaly"], edema["Pleural Effusion"]) == (POSITIVE, POSITIVE, 0)
    assert (clear["No Finding"], clear["Pneumothorax"]) == (POSITIVE, NEGATIVE)
    assert hedged["Pneumonia"] == UNCERTAIN


def test_agreement_is_the_share_of_reports_read_as_known(make_corpus: Callable[..., ds.Dataset]) -> None:
    read = label_reports(make_corpus(["train"]), LABELER)[list(OBSERVATIONS)].to_numpy()
    gold = [row.tolist() for row in read]
    gold[0][INDEX["Pleural Effusion"]] = NEGATIVE  # one of four films is known to have none
    gold[3] = None
    report = check_labeler(make_corpus(["train"], gold=gold), LABELER)
    assert (report["labeler"], report["reports"], report["known"]) == ("rules", 4, 3)
    assert report["agreement"]["Pleural Effusion"] == 2 / 3
    assert {share for name, share in report["agreement"].items() if name != "Pleural Effusion"} == {1.0}
    assert list(report["agreement"])[NO_FINDING] == "No Finding"
    assert json.loads(json.dumps(report)) == report


def test_nothing_known_gives_no_agreement(make_corpus: Callable[..., ds.Dataset]) -> None:
    assert check_labeler(make_corpus(), LABELER) == {"labeler": "rules", "reports": 12, "known": 0}

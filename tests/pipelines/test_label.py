"""The stage label on a corpus in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds

from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.pipelines.label import label_reports

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}


def test_every_film_gets_its_labels(make_corpus: Callable[..., ds.Dataset]) -> None:
    labels = label_reports(make_corpus(["train", "test"]), Path(), LABELER)
    assert labels.columns.tolist() == ["sample_id", "study_id", "split", *OBSERVATIONS]
    assert labels["sample_id"].tolist() == [f"{split}{i}_1" for split in ("train", "test") for i in range(4)]
    effusion, edema, clear, hedged = labels.head(4).to_dict("records")
    assert effusion["Pleural Effusion"] == POSITIVE
    assert (edema["Edema"], edema["Cardiomegaly"], edema["Pleural Effusion"]) == (POSITIVE, POSITIVE, 0)
    assert (clear["No Finding"], clear["Pneumothorax"]) == (POSITIVE, NEGATIVE)
    assert hedged["Pneumonia"] == UNCERTAIN

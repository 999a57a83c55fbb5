"""Numbers have sections in MLflow, and each keeps a name of its own."""

from __future__ import annotations

import pytest

from radrl.wiring.ui_server import grouped


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("ce_rules_macro14_f1", "ce_rules/macro14_f1"),
        ("ce_rules_gold_macro14_f1_uncertain_pos", "ce_rules_gold/macro14_f1_uncertain_pos"),
        ("ce_chexbert_compact_exact_match5", "ce_chexbert_compact/exact_match5"),
        ("ce_rules_mccs", "ce_rules/mccs"),
        ("nlg_bleu4", "nlg/bleu4"),
        ("green_rules_matched", "green_rules/matched"),
        ("balanced.Pleural Effusion", "balanced/Pleural Effusion"),
        ("compact.observations.Edema.f1", "compact/observations.Edema.f1"),
        ("groups/zero_reward_share", "groups/zero_reward_share"),
        ("reward", "reward"),
    ],
)
def test_a_section_is_who_measured(key: str, name: str) -> None:
    assert grouped(key) == name
    assert grouped(name) == name


def test_counts_stand_below_their_stage() -> None:
    assert grouped("reports", stage="eval") == "eval/reports"
    assert grouped("reports", stage="labeler") == "labeler/reports"
    assert grouped("nlg_bleu4", stage="eval") == "nlg/bleu4"
    assert grouped("splits.train", stage="ingest") == "splits/train"


def test_what_a_trainer_tells_has_a_section() -> None:
    assert grouped("reward", "training") == "training/reward"
    assert grouped("rewards/ce_f1/mean", "training") == "training/rewards/ce_f1/mean"

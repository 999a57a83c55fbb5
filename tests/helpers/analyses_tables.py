"""The stage analyses' tables, made up: a row's value is 0.3 + its difference + 0.01 a seed."""

from __future__ import annotations

from radrl.studies.execution import MASKING, REWARDS, Experiment

ROWS = {"random": None, "tf_idf": 0.1, "gradient": 0.4}
POOLS = {"full": None, "random": None, "ddsampling": 0.02, "most_diverse": 0.3}
COLUMNS = "value,low,high,difference,difference_low,difference_high,p,p_randomisation,p_holm"


def write(experiment: Experiment) -> None:
    """Both tables into an experiment's clone."""
    read = [
        f"{reader},{row},{metric},{_numbers(difference, experiment.seed)},100,1000"
        for reader in ("rules", "chexbert_compact")
        for row, difference in ROWS.items()
        for metric in ("label_modification_ratio", "post_masking_f1")
    ]
    pools = [
        f"{pool},{metric},{_numbers(difference, experiment.seed)},236,10,rules"
        for pool, difference in POOLS.items()
        for metric in ("zero_variance_ratio", "unique_rewards", "mean_reward_std")
    ]
    (experiment.clone / MASKING).parent.mkdir(parents=True)
    header = f"labeler,strategy,metric,{COLUMNS},films,rollouts"
    (experiment.clone / MASKING).write_text("\n".join([header, *read]) + "\n")
    header = f"pool,metric,{COLUMNS},films,group,labeler"
    (experiment.clone / REWARDS).write_text("\n".join([header, *pools]) + "\n")


def _numbers(difference: float | None, seed: int) -> str:
    value = 0.3 + (difference or 0) + seed / 100
    if difference is None:
        return f"{value},{value - 0.05},{value + 0.05},,,,,,"
    return f"{value},0,1,{difference},{difference - 0.04},{difference + 0.04},0.01,0.01,0.02"

"""`radrl claims --figure` from the command line."""

import pandas as pd

LINE = {
    "study": "study-trial",
    "command": "radrl study study-trial.yaml",
    "where": "DEER, table 4",
    "claim": "DEER is above GRPO",
    "run": None,
    "arm": "deer",
    "over_run": None,
    "over": "grpo",
    "metric": "ce_rules_sample14_f1",
    "expects": "more",
    "margin": 0.01,
    "seeds": 6,
    "difference": 0.04,
    "difference_low": 0.03,
    "difference_high": 0.05,
    "p_family": 0.01,
    "p_contradicted": 1.0,
    "planned": None,
    "detectable": 0.012,
    "verdict": "supported",
    "paper_difference": None,
}


def test_the_claims_of_all_files_are_drawn(radrl, tmp_path):
    files = [tmp_path / f"{name}-claims.csv" for name in ("first", "second")]
    for file in files:
        pd.DataFrame([LINE | {"study": file.stem}]).to_csv(file, index=False)
    figure = tmp_path / "new" / "claims.png"
    result = radrl("claims", *files, "--figure", figure)
    assert result.exit_code == 0, result.output
    assert f"2 hypotheses -> {figure}" in result.stderr
    assert "2 supported" in result.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")

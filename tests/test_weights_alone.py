"""A policy with transformers alone: the lines of docs/howto/weights.md, where radrl cannot be imported."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from radrl.policy.hf_writer import HfWriter

LONGEST = 40  # tokens: a whole report of the shipped base has up to 96


def test_lines_of_the_page_write_radrls_report(
    root: Path, films: Callable[..., list[bytes]], one_thread: None, tmp_path: Path
) -> None:
    page = (root / "docs/howto/weights.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    prompt = yaml.safe_load((root / "params.yaml").read_text())["prompts"]["plain"]
    assert f'prompt, longest = "{prompt}", ' in lines
    policy, (film,) = root / "data/06_models/radrl-tiny", films(1, size=112)
    lines = lines.replace("data/06_models/arms/grpo", str(policy)).replace(", 128\n", f", {LONGEST}\n")
    (tmp_path / "program.py").write_text(f"import sys\n\nsys.modules['radrl'] = None\n{lines}")
    (tmp_path / "film.png").write_bytes(film)
    alone = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    writer = HfWriter.open(policy, dtype="float32", device="cpu", threads=1)
    (((own,),)) = writer.write([[film]], prompt, max_new_tokens=LONGEST)
    assert alone.stdout.strip() == own.text
    assert len(set(own.text.split())) > 5

"""Parts run by themselves and keep what they found; the page says what is measured, missed or not there."""

from __future__ import annotations

import json
import pickle
import re
import time
from pathlib import Path
from typing import Any

import grpo_step
import pytest
import torch
import yaml
from gpu_check import exactness, page, results, resume, row, runner, speed
from gpu_check.parts import PARTS, Part, chosen
from gpu_check.setup import MIDDLE, Setup
from grpo_steps import measure, policies
from grpo_steps.measure import Cell

from radrl.plan import hours


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(twin=True, work=tmp_path_factory.mktemp("work"))


def kept_by(measure: Any, setup: Setup) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    measure(setup, lambda found: kept.append(json.loads(json.dumps(found))))
    return kept


def test_the_twin_is_exact_and_keeps_each_check_as_it_is_done(setup: Setup) -> None:
    kept = kept_by(exactness.measure, setup)
    assert [len(found["checks"]) for found in kept] == [*range(1, 9)]
    checks = kept[-1]["checks"]
    assert [check["dtype"] for check in checks] == ["float32"] * 4 + ["bfloat16"] * 4
    assert all(check["holds"] for check in checks[:6])
    assert [check["holds"] for check in checks[6:]] == [None, None]


def test_a_forward_that_is_off_does_not_hold(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = exactness.apart
    monkeypatch.setattr(exactness, "apart", lambda *given: plain(*given) + 0.01)
    rows: list[tuple[Any, ...]] = []
    exactness._forward(setup, setup.load(dtype="float32"), "float32", None, lambda *own: rows.append(own))
    assert [own[-1] for own in rows] == [False, False]


def test_reports_that_part_at_no_tie_do_not_hold(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = exactness.write_on_rows

    def off(*given: Any) -> torch.Tensor:
        written = plain(*given)
        written[0, -1] = (written[0, -1] + 1) % 1000
        return written

    monkeypatch.setattr(exactness, "write_on_rows", off)
    rows: list[tuple[Any, ...]] = []
    exactness._greedy(setup, setup.load(), "float32", lambda *own: rows.append(own))
    ((_, _, measured, _, holds),) = rows
    assert measured.startswith("7 of 8 reports equal")
    assert holds is False


def test_two_kills_are_resumed_to_the_bit_and_another_seed_is_seen(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    (*_, last) = kept_by(resume.measure, setup)
    assert [check["holds"] for check in last["checks"]] == [True, True]
    runs = iter({"start": "a", "weights": own, "curve": [{"step": 1.0}]} for own in "bcbb")
    monkeypatch.setattr(resume, "_run", lambda *_: next(runs))
    monkeypatch.setattr(resume, "_killed", lambda *_: False)
    (*_, last) = kept_by(resume.measure, setup)
    assert [check["holds"] for check in last["checks"]] == [False, True]
    assert last["checks"][0]["measured"] == "weights differ"
    assert last["checks"][1]["measured"].endswith("a process was not killed")


def test_the_middle_shape_can_be_built() -> None:
    with torch.device("meta"):
        policy = policies.real(MIDDLE, ["No effusion."], device="meta", dtype="float32")
    assert 50e6 < policy.model.num_parameters() < 100e6


def test_carried_studies_are_those_that_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = policies.records(56, 20)
    policies.carry(tmp_path / "56.npz", 56, films=3)
    monkeypatch.setattr(policies, "CARRIED", tmp_path)
    carried = policies.records(56, 20)
    assert [(own.findings, own.key) for own in carried[: len(drawn)]] == [
        (own.findings, own.key) for own in drawn
    ]
    assert all((one.image() == other.image()).all() for one, other in zip(carried[:3], drawn, strict=False))
    with pytest.raises(LookupError, match="carries no film of"):
        carried[3].image()


def test_a_part_that_is_killed_has_kept_what_it_had_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "__main__.py"
    script.write_text(
        "import json, sys, time\n"
        "into = sys.argv[sys.argv.index('--into') + 1]\n"
        "open(into, 'w').write(json.dumps({'card': 'x'}))\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setattr(runner, "__file__", str(tmp_path / "runner.py"))
    monkeypatch.setattr(runner, "LEAST", 0)
    began = time.monotonic()
    found = runner.run(Part("machine", "", 3), True, tmp_path, 100.0)
    assert time.monotonic() - began < 50
    assert (found["state"], found["found"]) == ("killed", {"card": "x"})
    assert found["why"] == "ended at its limit of 3 s"


def test_a_part_that_fails_says_why_and_one_without_time_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__main__.py").write_text("raise ValueError('no such card')\n")
    monkeypatch.setattr(runner, "__file__", str(tmp_path / "runner.py"))
    found = runner.run(PARTS[0], True, tmp_path, 100.0)
    assert (found["state"], found["found"]) == ("failed", {})
    assert runner.said(found).endswith("ValueError: no such card")
    left_out = runner.run(PARTS[0], True, tmp_path, 5.0)
    assert left_out["state"] == "left out"
    assert "--minutes" in left_out["why"]


def test_parts_by_name_keep_their_order_and_others_are_refused() -> None:
    assert [part.name for part in chosen(["speed-8", "machine"])] == ["machine", "speed-8"]
    with pytest.raises(ValueError, match="'speed' is no part; there are machine, exactness, speed-8"):
        chosen(["speed"])


def test_one_part_of_the_twin_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, file = tmp_path / "gpu.md", tmp_path / "found.json"
    given = ["--twin", "--only", "machine", "--out", str(out), "--json", str(file)]
    assert runner.main(given) == 0
    found = results.read(file)
    assert found["parts"]["machine"]["state"] == "done"
    assert found["parts"]["machine"]["found"]["peak_tflops"] > 0
    text = out.read_text()
    assert "Not run on a GPU. This is the CPU twin" in text
    assert "| exactness | not run |" in text
    assert text.count("not measured") >= 10
    assert runner.main(["--twin", "--only", "nothing"]) == 2
    assert "'nothing' is no part" in capsys.readouterr().err


def test_what_another_machine_found_is_rendered_and_written_as_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, brought, out = tmp_path / "throughputs.yml", tmp_path / "found.json", tmp_path / "gpu.md"
    file.write_text(row.FILE.read_text())
    monkeypatch.setattr(row.written, "__defaults__", (file,))
    results.write(brought, found_of_a_card())
    given = ["--render", str(brought), "--out", str(out), "--write-throughputs"]
    assert runner.main(given) == 1  # a part was killed there
    assert out.read_text() == page.text(found_of_a_card())
    assert "has a row of h100" in capsys.readouterr().err
    assert runner.main(["--render", str(tmp_path / "nothing.json")]) == 2


def test_findings_of_another_card_are_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_card", lambda: "NVIDIA A100")
    monkeypatch.setattr(runner, "run", lambda *_: {"state": "done", "seconds": 1.0, "why": "", "found": {}})
    out, file = tmp_path / "gpu.md", tmp_path / "found.json"
    given = ["--out", str(out), "--json", str(file), "--only"]
    results.write(file, {**found_of_a_card(), "card": "NVIDIA H100"})
    runner.main([*given, "resume"])
    assert list(results.read(file)["parts"]) == ["resume"]
    runner.main([*given, "memory"])
    assert list(results.read(file)["parts"]) == ["resume", "memory"]


def test_what_goes_to_an_accelerators_process_can_be_handed_over(setup: Setup) -> None:
    bench = grpo_step.Bench(setup.params, films=2)
    given = bench, Cell(112, 4, 10), setup.work, setup.texts, 2
    for own in (
        (speed.tried, (setup, "shared", 8, {})),
        (resume.train, (setup, setup.work, setup.work, setup.texts, None)),
        (measure._made, ("shared", grpo_step.job, given)),
    ):
        work, _ = pickle.loads(pickle.dumps(own))
        assert work is own[0]


def test_where_memory_is_short_fewer_rollouts_are_tried_and_then_no_frozen_start(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, Any, Any]] = []

    def full(setup: Setup, way: str, group: int, changed: Any) -> dict[str, Any]:
        tried.append((way, changed["rollouts_at_once"], changed.get("kl")))
        if way == "stock" and (changed["rollouts_at_once"] > 4 or "kl" not in changed):
            return {"failed": "out of memory", "full": True}
        return {"seconds": [dict.fromkeys(("update", "step"), 1.0)], "memory": 2**30}

    monkeypatch.setattr(speed, "tried_apart", full)
    monkeypatch.setattr(speed, "at_once_of", lambda _: (8, 4))
    kept: list[dict[str, Any]] = []
    speed.measure(setup, lambda found: kept.append(json.loads(json.dumps(found))), 8)
    assert tried[:3] == [("stock", 8, None), ("stock", 4, None), ("shared", 8, None)]
    assert tried[3:] == [("stock", 8, 0.0), ("stock", 4, 0.0), ("shared", 8, 0.0)]
    assert kept[-1]["changed"] == {"kl": 0.0}
    assert {way: own["at_once"] for way, own in kept[-1]["ways"].items()} == {"stock": 4, "shared": 8}
    assert all(own["update_operations"] > 0 for own in kept[-1]["ways"].values())


def test_a_way_that_fails_for_another_reason_fails_its_part_and_is_not_tried_again(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def failing(setup: Setup, way: str, *_: Any) -> dict[str, Any]:
        tried.append(way)
        return {"failed": "ValueError: no"}

    monkeypatch.setattr(speed, "tried_apart", failing)
    with pytest.raises(RuntimeError, match="stock: ValueError: no; shared: ValueError: no"):
        speed.measure(setup, lambda _: None, 8)
    assert tried == ["stock", "shared"]


def speed_of(stock: float, shared: float) -> dict[str, Any]:
    """Ways whose every part takes so many seconds."""
    own = {}
    for way, value in {"stock": stock, "shared": shared}.items():
        seconds = dict.fromkeys(("rollout", "reward", "log-probabilities", "update", "step"), value)
        own[way] = {
            "at_once": 8,
            "seconds": [seconds],
            "memory": 60 * 2**30,
            "update_operations": 100e12,
            "tokens": 640,
        }
    own["shared"]["planned"] = 63 * 2**30
    return {"group": 8, "changed": {}, "ways": own}


def found_of_a_card() -> dict[str, Any]:
    """A check of a made-up card of 500 TFLOP/s; the decoding is a part that was killed."""
    machine = {
        "card": "NVIDIA H100 80GB HBM3",
        "memory_gib": 79.1,
        "torch": "2.11.0",
        "transformers": "5.17.0",
    }
    machine |= {
        "trl": "1.16.0",
        "python": "3.12.1",
        "cuda": "13.0",
        "peak_tflops": 500.0,
        "bandwidth_tbs": 2.5,
    }
    parts = {
        "machine": {"found": machine},
        "speed-8": {"found": speed_of(1.5, 0.5)},
        "throughputs": {"found": {"measured": {"forward": 412.34, "training": 371.0, "layer_ms": 0.31234}}},
    }
    done = {name: {"state": "done", "seconds": 1.0, "why": "", **own} for name, own in parts.items()}
    killed = {"state": "killed", "seconds": 9.0, "why": "ended at its limit of 9 s", "found": {"rows": []}}
    return {"twin": False, "command": "python bench/gpu_check", "parts": {**done, "decoding": killed}}


def test_the_page_holds_goals_against_what_was_measured() -> None:
    text = page.text(found_of_a_card())
    # 1.5 s over 0.5; 100e12 operations in 0.5 s are 200 TFLOP/s of 500
    assert "| update, G 8, TRL over radrl | 2.8 | 3.00 | met |" in text
    assert "| update, G 16, TRL over radrl | 3.4 | not measured |  |" in text
    assert "| decoding, G 8, generate over radrl | 6 | not measured |  |" in text
    assert "| update, G 8, of the measured matrix peak | 40% | 40% | met |" in text
    assert "| memory of the whole training, G 8 | 64 GiB | 60.0 GiB | met |" in text
    assert "| training, all weights, G 8, radrl | 60.00 | 63.00 | 1.05 |" in text
    assert "| decoding | killed | 9 | ended at its limit of 9 s |" in text
    assert "CPU twin" not in text
    assert "| 8 | radrl | 8 | 0.500 | 0.500 | 0.500 | 0.500 | 1,280 | 1,280 | 40.0% |" in text


def test_a_goal_that_is_missed_is_said() -> None:
    found = found_of_a_card()
    found["parts"]["speed-8"]["found"] = speed_of(1.0, 0.5)
    text = page.text(found)
    assert "| update, G 8, TRL over radrl | 2.8 | 2.00 | missed |" in text
    assert "| whole step, G 8, TRL over radrl | 3 | 2.00 | missed |" in text


def test_a_check_that_does_not_hold_or_a_part_that_was_killed_is_no_success() -> None:
    found = found_of_a_card()
    assert not page.holds(found)
    del found["parts"]["decoding"]
    assert page.holds(found)
    check = {"check": "x", "dtype": "float32", "measured": "", "asked": "", "holds": False}
    found["parts"]["machine"]["found"]["checks"] = [check]
    assert not page.holds(found)


def test_what_is_no_number_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    results.write(file, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        results.write(file, {"a": float("nan")})
    assert results.read(file) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


def test_the_cards_row_is_written_in_place_and_a_new_cards_beside(tmp_path: Path) -> None:
    file = tmp_path / "throughputs.yml"
    before = row.FILE.read_text()
    file.write_text(before)
    assert row.written(found_of_a_card(), file) == f"{file} has a row of h100"
    known, new = yaml.safe_load(before)["cards"], yaml.safe_load(file.read_text())["cards"]
    assert list(new) == list(known)
    assert {name: own for name, own in new.items() if name != "h100"} == {
        name: own for name, own in known.items() if name != "h100"
    }
    h100 = new["h100"]
    assert (h100["forward"], h100["training"], h100["layer_ms"], h100["memory_gib"]) == (412, 371, 0.312, 79)
    assert h100["vllm_layer_ms"] == known["h100"]["vllm_layer_ms"]
    assert h100["source"].startswith("measured by bench/gpu_check on one NVIDIA H100 80GB HBM3")
    hours.Card("h100", **h100)
    found = found_of_a_card()
    found["parts"]["machine"]["found"]["card"] = "NVIDIA RTX 6000 Ada Generation"
    row.written(found, file)
    assert list(yaml.safe_load(file.read_text())["cards"]) == [
        *list(known)[:-1],
        "rtx_6000_ada_generation",
        "cpu",
    ]
    comments = re.findall(r"(?m)^#.*$", before)
    assert re.findall(r"(?m)^#.*$", file.read_text()) == comments


def test_the_twin_writes_no_row(tmp_path: Path) -> None:
    found = {**found_of_a_card(), "twin": True}
    file = tmp_path / "throughputs.yml"
    assert "as it was" in row.written(found, file)
    assert not file.exists()

"""Reports a second that labelers and scorers read, beside the programs that people use for it.

    python bench/scoring.py                                           # what this environment has
    python bench/scoring.py --f1chexbert-python A/bin/python --radeval-python B/bin/python
    python bench/scoring.py --write docs/bench/scoring.md
    python bench/scoring.py --only pairs --memory 200000 --write docs/bench/scoring_pairs.md

All ways take turns, round by round; counted are CPU seconds on one thread, Java's included, and of several
rounds the median. A peer that is not there is named and left out.

- CheXbert: the published shape (bert-base, 14 heads) with random weights, in a checkpoint laid out as the
  published one. f1chexbert's own code reads it from its cache folder, and its tokenizer from a folder
  `bert-base-uncased`, in the interpreter that is given: `pip install f1chexbert "transformers<5"`. Texts are
  the rollouts of a study, all K of some films, duplicates as they come. Loading is not counted. Random
  weights say nothing of a report; whether both give the same labels is counted all the same.
- Rules: the texts of docs/metric_checks.csv, without the cache of sentences, with an empty one, and with one
  that has seen them.
- Pairs by rules: the pairs of docs/metric_checks.csv, and phantom reports, true and generated, by the metrics
  whose rules read both reports; with --before also as the sources of another commit do it. With --memory the
  peak resident memory of `radrl score --metrics weighted_findings` as pairs grow in number.
- Overlap of words: phantom reports, true and generated, as bench/score_memory draws them. pycocoevalcap's own
  classes in this process; RadEval in the interpreter that is given (`pip install RadEval`), whose ROUGE is
  another formula (stemmed words, 1, 2 and L).
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
CHECKS: Final = ROOT / "docs" / "metric_checks.csv"
ROLLOUTS: Final = ROOT / "data" / "07_model_output" / "rollouts"
PIECES: Final = 30_522
"""Word pieces of bert-base-uncased, whose vocabulary is stood in for."""

TASKS: Final = ("chexbert", "rules", "pairs", "words", "meteor")
"""What is measured."""

PEERS: Final = {
    "f1chexbert": ("f1chexbert", "transformers", "torch"),
    "radeval": ("RadEval", "rouge-score"),
    "before": (),
}
"""Packages whose versions a peer's interpreter is asked for."""


@dataclass(slots=True)
class Way:
    """One way of reading N reports.

    Args:
        name: of its line.
        run: reads them; gives the CPU seconds that counted and what it found.
        reports: N.
        seconds: of each round.
        found: of the last round.
    """

    name: str
    run: Callable[[], tuple[float, Any]]
    reports: int
    seconds: list[float] = field(default_factory=list)
    found: Any = None


@dataclass(frozen=True, slots=True)
class Task:
    """Ways to one end, ours first; `same` says in words how the first differs from another one."""

    title: str
    ways: list[Way]
    same: Callable[[Any, Any], str]


def cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    own, started = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + started.ru_utime + started.ru_stime


def timed(read: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it gave; what it prints is dropped."""
    start = cpu()
    with contextlib.redirect_stdout(io.StringIO()):
        found = read()
    return cpu() - start, found


def rollout_texts(folder: Path, films: int) -> list[str]:
    """All rollouts of the first films of a study, in their order."""
    import pyarrow.dataset as ds

    table = ds.dataset(folder, format="parquet").to_table(columns=["sample_id", "report"])
    chosen = {*list(dict.fromkeys(table["sample_id"].to_pylist()))[:films]}
    rows = zip(table["sample_id"].to_pylist(), table["report"].to_pylist(), strict=True)
    return [report for film, report in rows if film in chosen]


def drawn_pairs(count: int) -> tuple[list[str], list[str]]:
    """Phantom reports: references and hypotheses."""
    from score_memory import pairs

    from radrl.scoring.nlg import basic

    rows = list(islice(pairs(0), count))
    return [basic(truth) for _, truth, _ in rows], [basic(found) for _, _, found in rows]


def checkpoint(folder: Path, texts: Sequence[str]) -> None:
    """A CheXbert of the published shape with random weights, where each of the two ways looks for one."""
    import torch
    from transformers import BertConfig

    from radrl.labelers.chexbert import folder as on_disk
    from radrl.labelers.chexbert.model import SPECIAL, CheXbert, build_tokenizer

    known = dict.fromkeys([*SPECIAL, *"abcdefghijklmnopqrstuvwxyz0123456789.,:;()/-%'\"?"])
    known |= dict.fromkeys(f"##{sign}" for sign in "abcdefghijklmnopqrstuvwxyz0123456789")
    for word in re.findall(r"[a-z]+", " ".join(texts).lower()):  # long words in pieces, as BERT has them
        first, *rest = [word] if len(word) < 8 else [word[:5], word[5:9], word[9:]]
        known |= dict.fromkeys([first, *(f"##{part}" for part in rest if part)])
    vocabulary = [*known, *(f"[unused{i}]" for i in range(PIECES - len(known)))]
    torch.manual_seed(0)
    on_disk.save(CheXbert(BertConfig(initializer_range=0.05)), build_tokenizer(vocabulary), folder)
    for place, name in (("bert-base-uncased", "vocab.txt"), ("bert-base-uncased", "config.json")):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / name).write_bytes((folder / name).read_bytes())
    (folder / "chexbert").mkdir()
    (folder / "chexbert" / "chexbert.pth").hardlink_to(folder / "chexbert.pth")


def bound(tokens: float) -> str:
    """What one core can do at most, from the rate at which it multiplies matrices of BERT's sizes."""
    import torch

    torch.set_num_threads(1)
    hidden, inner, layers = 768, 3072, 12
    left, right = torch.rand(1024, hidden), torch.rand(hidden, inner)
    best = min(timed(lambda: [left @ right for _ in range(20)])[0] for _ in range(5))
    rate = 20 * 2 * left.numel() * inner / best
    # four projections and two of the feed-forward part a token, and its products with all others
    needed = tokens * layers * 2 * (4 * hidden**2 + 2 * hidden * inner + 2 * hidden * tokens)
    return (
        f"A report takes {needed / 1e9:.1f} GFLOP; the core multiplies matrices of these sizes at "
        f"{rate / 1e9:.0f} GFLOP a second, so that it reads at most {rate / needed:.1f} reports a second in "
        "single precision."
    )


def chexbert(options: argparse.Namespace, work: Path, said: list[str]) -> Task | None:
    """CheXbert's labels."""
    if not options.rollouts.is_dir():
        said.append(f"CheXbert is left out: no rollouts at {options.rollouts}; run the study, or name others")
        return None
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    texts = rollout_texts(options.rollouts, options.films)
    checkpoint(work, texts)
    labeler = CheXbertLabeler.from_folder(work, cache_size=0)
    tokens = [len(own.ids) for own in labeler.encode(texts)]
    said.append(
        f"CheXbert's texts: {len(texts)} rollouts of {options.films} films, {len({*texts})} of them "
        f"distinct, {sum(tokens) / len(tokens):.0f} tokens each. {bound(sum(tokens) / len(tokens))}"
    )
    ways = [Way("radrl", lambda: timed(lambda: labeler.label(texts).tolist()), len(texts))]
    if options.f1chexbert_python:
        ways.append(peer("f1chexbert", options.f1chexbert_python, {"texts": texts}, work, said))
    else:
        said.append("f1chexbert is left out: give --f1chexbert-python")

    def same(ours: Any, theirs: Any) -> str:
        other = sum(
            a != b for one, two in zip(ours, theirs, strict=True) for a, b in zip(one, two, strict=True)
        )
        return f"{other} of {14 * len(ours):,} labels differ"

    return Task("CheXbert's labels, bert-base", ways, same)


def rules(_: argparse.Namespace, __: Path, said: list[str]) -> Task:
    """The rule labeler's labels."""
    from radrl.labelers.rules.labeler import RulesLabeler

    with CHECKS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    texts = list(dict.fromkeys(row[side] for row in rows for side in ("reference", "hypothesis")))
    warm = RulesLabeler()
    warm.label(texts)
    times = 20
    makers = {
        "radrl, no cache": lambda: RulesLabeler(cache_size=0),
        "radrl, empty cache": RulesLabeler,
        "radrl, full cache": lambda: warm,
    }

    def read(make: Callable[[], RulesLabeler]) -> tuple[float, Any]:
        runs = [timed(lambda: make().label(texts).tolist()) for _ in range(times)]
        return sum(seconds for seconds, _ in runs), runs[0][1]

    said.append(f"Rules: {len(texts)} distinct texts of docs/metric_checks.csv, {times} times a round.")
    ways = [Way(name, lambda make=make: read(make), times * len(texts)) for name, make in makers.items()]
    return Task("Labels by rules", ways, lambda ours, theirs: "same" if ours == theirs else "other labels")


def pairs_by_rules(options: argparse.Namespace, work: Path, said: list[str]) -> list[Task]:
    """Metrics that read a pair of reports by rules: reports a second are pairs a second here."""
    with CHECKS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    checks = [row["reference"] for row in rows], [row["hypothesis"] for row in rows]
    drawn = drawn_pairs(options.pairs)
    times = max(1, options.pairs // len(rows))
    said.append(f"Pairs by rules: the {len(rows)} pairs of docs/metric_checks.csv, {times} times a round.")
    said.append(f"Drawn pairs by rules: {len(drawn[0]):,} pairs of phantom reports, once a round.")
    return [
        _pairs_by_rules("Pairs by rules", *checks, times, options.before, work, said),
        _pairs_by_rules("Drawn pairs by rules", *drawn, 1, options.before, work, said),
    ]


def _pairs_by_rules(
    title: str,
    truth: Sequence[str],
    found: Sequence[str],
    times: int,
    before: Path | None,
    work: Path,
    said: list[str],
) -> Task:
    from radrl.scoring.rules.errors import GreenRules
    from radrl.scoring.weighted_findings.score import WeightedFindings

    def read(make: Callable[[], Any]) -> tuple[float, Any]:
        runs = [timed(lambda: list(make().score(truth, found).corpus.values())) for _ in range(times)]
        return sum(seconds for seconds, _ in runs), runs[0][1]

    warm = WeightedFindings()
    warm.score(truth, found)
    makers: dict[str, Callable[[], Any]] = {
        "weighted_findings, no cache": lambda: WeightedFindings(cache_size=0),
        "weighted_findings, empty cache": WeightedFindings,
        "weighted_findings, full cache": lambda: warm,
        "green_rules, no cache": lambda: GreenRules(cache_size=0),
    }
    count = times * len(truth)
    ways = [Way(name, lambda make=make: read(make), count) for name, make in makers.items()]
    if before:
        request = {"references": truth, "hypotheses": found, "times": times, "metrics": [title]}
        way = peer("before", Path(sys.executable), request, work, said, sources=before)
        ways.append(Way("weighted_findings before, no cache", way.run, count))
    return Task(title, ways, _same_figures)


def _same_figures(ours: Any, theirs: Any) -> str:
    if len(ours) != len(theirs):
        return "another measure"
    return "same" if ours == list(theirs) else "other figures"


def memory(sizes: Sequence[int], work: Path) -> list[str]:
    """Peak resident memory of a process that scores so many pairs from a file, as lines of a table."""
    from score_memory import SCORE, measure, write_pairs

    lines = ["| pairs | MB | s |", "|---|---|---|"]
    runs = {}
    for size, path in write_pairs(work, sizes).items():
        runs[size] = measure(*SCORE, "--metrics", "weighted_findings", path)
        lines.append(f"| {size:,} | {runs[size].memory:,.0f} | {runs[size].seconds:.0f} |")
        print(lines[-1], file=sys.stderr)
    least, most = min(sizes), max(sizes)
    grown = (runs[most].memory - runs[least].memory) * 1e3 / (most - least)
    ratio = runs[most].memory / runs[least].memory
    about = (
        "`radrl score --metrics weighted_findings`, files of phantom reports, a process each: peak resident "
        f"memory, CPU seconds with start and reading. From {least:,} to {most:,} pairs {ratio:.2f} times the "
        f"memory, {grown:.2f} kB a pair more."
    )
    return ["", about, "", *lines]


def words(options: argparse.Namespace, work: Path, said: list[str]) -> list[Task]:
    """Overlap of words, each measure with the ones before it, as one asks for them."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    from radrl.scoring.nlg import Nlg, nlg_scores

    truth, found = drawn_pairs(options.pairs)
    known, given = ({i: [text] for i, text in enumerate(side)} for side in (truth, found))
    said.append(f"Overlap of words: {len(truth):,} pairs of phantom reports.")

    def cooked() -> list[float]:
        nlg = Nlg(preparation="whitespace", meteor=False)
        return list(nlg.sums_of_stored(truth, {"found": (found, {})})["found"].values().values())

    def nlg(cider: bool) -> list[float]:
        return list(nlg_scores(truth, found, meteor=False, cider=cider).corpus.values())

    def coco(*more: type) -> list[float]:
        bleu, _ = Bleu(4).compute_score(known, given, verbose=0)
        return [*bleu, *(float(one().compute_score(known, given)[0]) for one in more)]

    rows: list[tuple[str, Callable[[], Any], tuple[type, ...], tuple[str, ...]]] = [
        ("BLEU-1 to 4", cooked, (), ("bleu",)),
        ("BLEU and ROUGE-L, of all and of each", lambda: nlg(False), (Rouge,), ("bleu", "rouge")),
        ("BLEU, ROUGE-L and CIDEr, of all and of each", lambda: nlg(True), (Rouge, Cider), ()),
    ]
    tasks = []
    for title, ours, classes, metrics in rows:
        ways = [Way("radrl", lambda own=ours: timed(own), len(truth))]
        ways.append(Way("pycocoevalcap", lambda own=classes: timed(lambda: coco(*own)), len(truth)))
        if options.radeval_python and metrics:
            request = {"references": truth, "hypotheses": found, "metrics": metrics}
            ways.append(peer("radeval", options.radeval_python, request, work, said))
        tasks.append(Task(title, ways, figures_apart))
    if not options.radeval_python:
        said.append("RadEval is left out: give --radeval-python")
    return tasks


def figures_apart(ours: Sequence[float], theirs: Any) -> str:
    """How far apart the figures are; RadEval has BLEU-4 alone in common."""
    if isinstance(theirs, Mapping):
        return f"BLEU-4 {abs(ours[3] - theirs['bleu']):.0e} apart" + ("; another ROUGE" * (len(theirs) > 1))
    return f"{max(abs(a - b) for a, b in zip(ours, theirs, strict=True)):.0e} apart"


def meteor(options: argparse.Namespace, work: Path, said: list[str]) -> Task | None:
    """METEOR 1.5, the program's start included."""
    from pycocoevalcap.meteor.meteor import Meteor

    from radrl.scoring.meteor import MeteorProcess, Texts, meteor_missing

    if missing := meteor_missing():
        said.append(f"METEOR is left out: {missing}")
        return None
    truth, found = drawn_pairs(options.meteor)
    known, given = ({i: [text] for i, text in enumerate(side)} for side in (truth, found))
    said.append(f"METEOR: {len(truth):,} pairs of phantom reports, start included, as for an arm's reports.")
    texts = Texts()
    texts.add(truth)
    os.environ["XDG_CACHE_HOME"] = str(work)  # where tables are kept

    def again() -> list[float]:
        with MeteorProcess(references=texts.all()) as process:
            counts, _ = process.score_part(truth, found)
            return [process.corpus(counts)]

    def first() -> list[float]:
        for table in (work / "radrl").rglob("*.gz"):
            table.unlink()
        return again()

    def coco() -> list[float]:
        scorer = Meteor()
        corpus, _ = scorer.compute_score(known, given)
        scorer.meteor_p.stdin.close()
        scorer.meteor_p.wait()
        return [corpus]

    made = {"radrl, references seen before": again, "radrl, first time": first, "pycocoevalcap": coco}
    ways = [Way(name, lambda own=own: timed(own), len(truth)) for name, own in made.items()]
    ways[0], ways[1] = ways[1], ways[0]  # the first cuts the table that the second finds
    return Task("METEOR", ways, figures_apart)


def peer(
    name: str,
    python: Path,
    request: Mapping[str, Any],
    work: Path,
    said: list[str],
    *,
    sources: Path | None = None,
) -> Way:
    """A peer in an interpreter of its own, which runs this file; it says itself what its seconds are."""
    path = work / f"{name}-{len(request)}-{'-'.join(request.get('metrics', ()))}.json"
    path.write_text(json.dumps(request))
    environment = os.environ | {"XDG_CACHE_HOME": str(work), "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = str(sources.resolve()) if sources else ""

    def run() -> tuple[float, Any]:
        command = [str(python.absolute()), str(Path(__file__).resolve()), "--peer", name, str(path)]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} in {python} failed:\n{done.stderr[-3000:]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        if answer["about"] and answer["about"] not in said:
            said.append(answer["about"])
        return answer["seconds"], answer["found"]

    return Way(name, run, len(request.get("texts", request.get("references", ()))))


def serve(name: str, path: Path) -> None:
    """Within a peer's interpreter: read the request with its own code, and answer on the last line."""
    sys.path.remove(str(Path(__file__).resolve().parent))  # bench/ has names of its own
    request = json.loads(path.read_text())
    readers = {"f1chexbert": _f1chexbert, "radeval": _radeval, "before": _before}
    seconds, found = readers[name](request)
    about = ", ".join(f"{package} {version(package)}" for package in PEERS[name])
    about = f"Peer {name}: {about}." if about else ""
    print()
    print(json.dumps({"seconds": seconds, "found": found, "about": about}))


def _f1chexbert(request: Mapping[str, Any]) -> tuple[float, Any]:
    import torch
    from f1chexbert import F1CheXbert

    torch.set_num_threads(1)
    scorer = F1CheXbert(device="cpu")
    scorer.get_label(request["texts"][0])
    classes = {"": 0, 1: 1, 0: 2, -1: 3}
    seconds, rows = timed(
        lambda: [scorer.get_label(text.strip(), mode="classification") for text in request["texts"]]
    )
    return seconds, [[classes[said] for said in row] for row in rows]


def _radeval(request: Mapping[str, Any]) -> tuple[float, Any]:
    from radeval.metrics import _registry

    scorers = [_registry.get_metric_class(name)() for name in request["metrics"]]
    for scorer in scorers:
        scorer.compute(request["references"][:2], request["hypotheses"][:2])

    def read() -> dict[str, float]:
        found = (one.compute(request["references"], request["hypotheses"]) for one in scorers)
        return {key: float(value) for one in found for key, value in one.items()}

    return timed(read)


def _before(request: Mapping[str, Any]) -> tuple[float, Any]:
    from radrl.scoring.weighted_findings.score import WeightedFindings

    pairs = request["references"], request["hypotheses"]
    WeightedFindings(cache_size=0).score(*(side[:50] for side in pairs))
    runs = [
        timed(lambda: list(WeightedFindings(cache_size=0).score(*pairs).corpus.values()))
        for _ in range(request["times"])
    ]
    return sum(seconds for seconds, _ in runs), runs[0][1]


def table(tasks: Sequence[Task]) -> list[str]:
    """A line a way: reports a second, and the ratio of ours to it over the rounds."""
    lines = [
        "| what | way | reports a second | ours to it (least to largest of rounds) | figures |",
        "|---|---|---|---|---|",
    ]
    for task in tasks:
        ours = task.ways[0]
        for way in task.ways:
            speed = way.reports / median(way.seconds)
            ratios = [theirs / own for theirs, own in zip(way.seconds, ours.seconds, strict=True)]
            spread = (
                f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if way is not ours else ""
            )
            figures = task.same(ours.found, way.found) if way is not ours else ""
            lines.append(
                f"| {task.title} | {way.name} | {speed:,.{1 if speed < 100 else 0}f} | {spread} | {figures} |"
            )
    return lines


def main() -> None:
    """Take turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of all ways")
    parser.add_argument(
        "--rollouts", type=Path, default=ROLLOUTS, help="a study's, as the stage rollouts wrote them"
    )
    parser.add_argument("--films", type=int, default=8, help="whose rollouts CheXbert labels; 0: no CheXbert")
    parser.add_argument("--pairs", type=int, default=1000, help="of BLEU, ROUGE-L and CIDEr")
    parser.add_argument("--meteor", type=int, default=340, help="pairs of METEOR; 0: no METEOR")
    parser.add_argument("--f1chexbert-python", type=Path, help="interpreter that has f1chexbert")
    parser.add_argument("--radeval-python", type=Path, help="interpreter that has RadEval")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS, help="what to measure")
    parser.add_argument("--before", type=Path, help="folder src of another commit, for pairs by rules")
    parser.add_argument("--memory", type=int, default=0, help="pairs of the last line of memory; 0: none")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve(options.peer[0], Path(options.peer[1]))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    text = measured(options)
    print(text)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(f"# bench/scoring\n\n{text}", encoding="utf-8")


def measured(options: argparse.Namespace) -> str:
    """Everything, as Markdown."""
    from radrl.process import importing

    importing.go_offline()
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tasks = [
            *([chexbert(options, work, said)] if options.films and "chexbert" in options.only else []),
            *([rules(options, work, said)] if "rules" in options.only else []),
            *(pairs_by_rules(options, work, said) if "pairs" in options.only else []),
            *(words(options, work, said) if "words" in options.only else []),
            *([meteor(options, work, said)] if options.meteor and "meteor" in options.only else []),
        ]
        done = [task for task in tasks if task is not None]
        for number in range(options.rounds):
            for task in done:
                for way in task.ways:
                    seconds, way.found = way.run()
                    way.seconds.append(seconds)
                    print(f"round {number + 1}: {task.title}, {way.name}: {seconds:.2f} s", file=sys.stderr)
        lines = table(done)
        if options.memory:
            lines += memory([options.memory // share for share in (8, 4, 2, 1)], work)
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "pycocoevalcap", "numpy")
    )
    command = " ".join(["python bench/scoring.py", *sys.argv[1:]])
    head = (
        f"Made by `{command}`.\n\n{platform.machine()}, {os.cpu_count()} cores, one thread; Python "
        f"{platform.python_version()}, {packages}. CPU seconds, medians of {options.rounds} rounds in turns."
    )
    return "\n".join([head, "", *lines, "", *(f"- {one}" for one in said)]) + "\n"


if __name__ == "__main__":
    main()

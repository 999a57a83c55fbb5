"""How every metric takes a controlled change and ranks reports: write what docs/metrics.md shows of both

    python tools/metric_checks.py            write scores, table and plot into docs/
    python tools/metric_checks.py --check    say what differs and exit 1 (a test does this)
    python tools/metric_checks.py --out build/checks --chexbert FOLDER --families radgraph green

The last scores with models of your own besides: RadGraph, GREEN and RadEval are set up by the section `eval`
of --params, as the stage eval does. Those go to a folder of their own; docs/ holds what runs everywhere.

The changes are docs/metric_checks.csv: all pairs, and each reference with itself (the change ``identical``),
are scored in one call, because CIDEr's document frequencies come from the references at hand. The rankings
are docs/metric_scenarios.csv (`metric_scenarios`), in a call of their own. Tables, plot and words are made
from the scores as written. Left out is what counts (errors, of which more is worse, and matches) and
RadCliQ, a distance.

Every built-in metric is scored that needs no setting but those here: a new one has its lines by itself.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import metric_scenarios
import numpy as np
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from radrl.evaluation.green import ERRORS
from radrl.labelers import Labeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import find
from radrl.scoring import Scorer
from radrl.scoring.build import build
from radrl.scoring.clinical import ClinicalEfficacy
from radrl.scoring.weighted_findings.tables import Context

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
PAIRS: Final = DOCS / "metric_checks.csv"
SCORES, PAGE, PLOT = "metric_checks_scores.csv", "metrics.md", "metric_checks.png"
BEGIN, END = "<!-- checks: written by tools/metric_checks.py -->\n", "<!-- end of checks -->\n"

IDENTICAL: Final = "identical"
OTHER_MEANING: Final = (
    "flipped_negation",
    "wrong_side",
    "wrong_severity",
    "dropped_finding",
    "added_finding",
)
SAME_MEANING: Final = ("paraphrase", "reordering")
CHANGES: Final = (*OTHER_MEANING, *SAME_MEANING)
NLG: Final = {"preparation": "basic", "meteor": True}
"""Words and punctuation marks in lower case, so that the changed words count and not their spelling."""
METEOR: Final = "nlg_meteor"
DIGITS: Final = 4
MOVES: Final = 10.0**-DIGITS / 2
Markers = tuple[str, str]
LEFT_OUT: Final = (*ERRORS, "_cost", "matched", "unscored", "radcliq_v1")

WORDS: Final = """\
- **Overlap puts wrong reports above right ones.** A flipped negation keeps BLEU-4 at
  {nlg_bleu4.flipped_negation} and ROUGE-L at {nlg_rougel.flipped_negation}; the same facts in other words
  get {nlg_bleu4.paraphrase} and {nlg_rougel.paraphrase}. Of the 150 wrong reports, {below[nlg_bleu4]} score
  below the paraphrase in BLEU-4, {below[nlg_rougel]} in ROUGE-L, {below[nlg_cider]} in CIDEr.
- **ROUGE-L and METEOR punish order.** Sentences in another order leave {nlg_rougel.reordering} and
  {nlg_meteor.reordering}. METEOR falls to {nlg_meteor.wrong_side} at a wrong side, not for the side, but
  because any break in a perfect match costs that much.
- **Labels know what, not where or how much.** A wrong side moves them in
  {moved[ce_rules_sample14_f1].wrong_side} of 30 pairs, a wrong severity in
  {moved[ce_rules_sample14_f1].wrong_severity}. They see {moved[ce_rules_sample14_f1].flipped_negation}
  flips, {moved[ce_rules_sample14_f1].dropped_finding} dropped and
  {moved[ce_rules_sample14_f1].added_finding} added findings; in the others their F1 stays the
  same. Paraphrases keep {ce_rules_sample14_f1.paraphrase}: {moved[ce_rules_sample14_f1].paraphrase} of 30
  are misread.
- **A graph of words sees errors and dislikes rewording.** `radgraph_rules_complete` falls in every wrong
  report, to {radgraph_rules_complete.flipped_negation} after a flip and
  {radgraph_rules_complete.wrong_side} after a wrong side, and to {radgraph_rules_complete.paraphrase} at a
  paraphrase. `simple` sees {moved[radgraph_rules_simple].wrong_side} wrong sides, `partial`
  {moved[radgraph_rules_partial].wrong_side}: in the others the other side stands in the report anyway.
- **Counted errors cost the same whatever they are**, as GREEN's formula has it: `green_rules` is at
  {green_rules.flipped_negation} after a flip, {green_rules.wrong_side} after a wrong side,
  {green_rules.wrong_severity} after a wrong severity. Paraphrases keep {green_rules.paraphrase}:
  {moved[green_rules].paraphrase} of 30 are misread. {below[green_rules]} of the 150 wrong reports score
  below the paraphrase, {below[ce_rules_sample14_f1]} by labels.
"""
"""What the table shows; tests/test_metric_checks.py holds the directions."""

SOURCE: Final = "Source"
"""Key of the picture's own text under which it holds the digest of the scores it shows."""
INK: Final = "#6e7781"
DPI: Final = 140


def families() -> list[str]:
    """The built-in metrics that need no setting beside `NLG`, hence no model or environment of their own."""
    given = {"nlg": NLG}
    return [
        name
        for name in BUILTIN["metric"]
        if all(
            setting in given.get(name, {})
            for setting, field in find("metric", name, None).section.model_fields.items()
            if field.is_required()
        )
    ]


def read_pairs() -> pd.DataFrame:
    """The 210 pairs, and each of the 30 references with itself."""
    pairs = pd.read_csv(PAIRS)
    same = pairs.drop_duplicates("pair").assign(change=IDENTICAL, what="")
    return pd.concat([same.assign(hypothesis=same["reference"]), pairs], ignore_index=True)


def per_pair(pairs: pd.DataFrame, scorers: Sequence[Scorer]) -> pd.DataFrame:
    """Pair, change and one column a metric, rounded."""
    return pd.concat([pairs[["pair", "change"]], per_report(pairs, scorers)], axis=1)


def per_scenario(scorers: Sequence[Scorer]) -> pd.DataFrame:
    """The scenarios' hypotheses, one column a metric, rounded; patients go to whoever weighs by them."""
    scenarios = metric_scenarios.read_scenarios()
    contexts = metric_scenarios.contexts(scenarios)
    return metric_scenarios.numbered(scenarios, per_report(scenarios, scorers, contexts))


def per_report(
    pairs: pd.DataFrame, scorers: Sequence[Scorer], contexts: Sequence[Context | None] | None = None
) -> pd.DataFrame:
    """One column a metric, rounded.

    Args:
        pairs: of references and hypotheses.
        scorers: of the metrics.
        contexts: of the patients, for metrics that ask for them; nothing where nobody is known.
    """
    columns: dict[str, Any] = {}
    for scorer in scorers:
        known = {"contexts": contexts} if "contexts" in inspect.signature(scorer.score).parameters else {}
        found = scorer.score(pairs["reference"].tolist(), pairs["hypothesis"].tolist(), **known)
        for name, reason in found.skipped.items():
            print(f"{name}: {reason}", file=sys.stderr)
        columns |= {name: values for name, values in found.per_report.items() if not name.endswith(LEFT_OUT)}
    return pd.DataFrame(columns).round(DIGITS).replace(-0.0, 0.0)


def pooled(pairs: pd.DataFrame, labelers: Sequence[Labeler]) -> pd.DataFrame:
    """Micro F1 over the 30 pairs of each change: it has no value a pair."""
    scorer = ClinicalEfficacy(labelers)
    names = [
        f"ce_{labeler.name}_micro14_f1{reading}" for labeler in labelers for reading in ("", "_uncertain_pos")
    ]
    rows = {}
    for change, found in pairs.groupby("change", sort=False):
        corpus = scorer.score(found["reference"].tolist(), found["hypothesis"].tolist()).corpus
        rows[change] = {name: corpus[name] for name in names}
    return pd.DataFrame.from_dict(rows, orient="index").round(DIGITS)


def moved(scores: pd.DataFrame, metric: str, change: str) -> pd.Series:
    """By pair, whether the metric differs from its value on identical texts."""
    return (_of(scores, metric, change) - _of(scores, metric, IDENTICAL)).abs() > MOVES


def loss(scores: pd.DataFrame, metric: str, change: str) -> pd.Series:
    """By pair, the share of the value on identical texts that a change costs."""
    whole = _of(scores, metric, IDENTICAL)
    return (whole - _of(scores, metric, change)) / whole


def _of(scores: pd.DataFrame, metric: str, change: str) -> pd.Series:
    return scores[scores["change"] == change].set_index("pair")[metric]


def metrics(scores: pd.DataFrame) -> list[str]:
    return [name for name in scores.columns if name not in ("pair", "change")]


def below_paraphrase(scores: pd.DataFrame, metric: str) -> int:
    """How many of the 150 reports that say something else score below the one that says the same."""
    same = _of(scores, metric, "paraphrase")
    return sum(int((_of(scores, metric, change) < same - MOVES).sum()) for change in OTHER_MEANING)


def table(scores: pd.DataFrame, pooled_scores: pd.DataFrame) -> str:
    """A line a metric, a column a change, as Markdown."""
    heads = ["metric", IDENTICAL, *CHANGES, "wrong below paraphrase"]
    lines = [f"| {' | '.join(head.replace('_', ' ') for head in heads)} |", "|---" * len(heads) + "|"]
    for metric in metrics(scores):
        cells = [f"{_of(scores, metric, IDENTICAL).mean():.3f}"]
        for change in CHANGES:
            values = _of(scores, metric, change)
            count = moved(scores, metric, change).sum()
            cells.append(f"{values.mean():.3f} ± {values.std(ddof=1):.3f} ({count})")
        lines.append(f"| `{metric}` | {' | '.join(cells)} | {below_paraphrase(scores, metric)} |")
    for metric in pooled_scores:
        cells = [f"{pooled_scores.loc[change, metric]:.3f}" for change in (IDENTICAL, *CHANGES)]
        lines.append(f"| `{metric}` | {' | '.join(cells)} | |")
    return "\n".join(lines) + "\n"


def in_words(scores: pd.DataFrame) -> str:
    """`WORDS` with their figures, wrapped anew."""
    means, counts = {}, {}
    for metric in metrics(scores):
        means[metric] = SimpleNamespace(**{to: f"{_of(scores, metric, to).mean():.2f}" for to in CHANGES})
        counts[metric] = SimpleNamespace(**{to: int(moved(scores, metric, to).sum()) for to in CHANGES})
    below = {metric: below_paraphrase(scores, metric) for metric in metrics(scores)}
    items = WORDS.format(**means, moved=counts, below=below).removeprefix("- ").split("\n- ")
    lines = [
        textwrap.fill(" ".join(f"- {item}".split()), 118, subsequent_indent="  ", break_on_hyphens=False)
        for item in items
    ]
    return "\n".join(lines) + "\n"


def picture(scores: pd.DataFrame) -> Figure:
    """Loss by metric and change: a cell's colour and number are the mean, its dots the 30 pairs."""
    names = metrics(scores)
    figure = Figure(figsize=(9.6, 0.46 * len(names) + 1.5), layout="constrained")
    panel = figure.add_subplot()
    columns = {change: i + (0.25 if change in SAME_MEANING else 0) for i, change in enumerate(CHANGES)}
    lines = dict(zip(names, _lines(names), strict=True))
    for metric, top in lines.items():
        for change, left in columns.items():
            _cell(panel, loss(scores, metric, change), left, top, alarm=change in SAME_MEANING)
    _frame(panel, columns, lines)
    return figure


def _lines(names: Sequence[str]) -> list[float]:
    """Upper edge of each metric's line; a gap between families."""
    edges, edge = [], 0.0
    for i, name in enumerate(names):
        edge += 0.3 if i and name.split("_")[0] != names[i - 1].split("_")[0] else 0.0
        edges.append(edge)
        edge += 1
    return edges


def _cell(panel: Axes, losses: pd.Series, left: float, top: float, *, alarm: bool) -> None:
    if losses.isna().all():
        return  # 0 on identical texts: nothing to lose
    mean = losses.mean()
    colour = _shade(mean, alarm)
    dark = mean > 0.42
    panel.fill([left, left + 0.96, left + 0.96, left], [top, top, top + 0.94, top + 0.94], color=colour, lw=0)
    ink = "white" if dark else "#24292f"
    text = "0" if losses.abs().max() <= MOVES else f"{100 * mean:.0f} %"
    panel.text(left + 0.48, top + 0.3, text, ha="center", va="center", fontsize=9, color=ink)
    at = left + 0.06 + 0.84 * losses.clip(0, 1)
    height = top + 0.58 + 0.3 * np.arange(len(losses)) / max(1, len(losses) - 1)
    panel.plot(at, height, ".", markersize=2.6, color=ink, alpha=0.75, markeredgewidth=0)


def _shade(mean: float, alarm: bool) -> tuple[float, float, float]:
    """Pale to dark, blue for a loss that is due and orange for one that is not."""
    low, high = np.array([0.955, 0.96, 0.97]), np.array([0.60, 0.24, 0.0] if alarm else [0.03, 0.22, 0.48])
    red, green, blue = low + (high - low) * np.clip(mean, 0, 1) ** 0.75
    return float(red), float(green), float(blue)


def _frame(panel: Axes, columns: Mapping[str, float], lines: Mapping[str, float]) -> None:
    bottom = max(lines.values()) + 1
    panel.set(xlim=(0, max(columns.values()) + 1), ylim=(bottom, 0))
    panel.set_xticks(
        [left + 0.48 for left in columns.values()], [change.replace("_", "\n") for change in columns]
    )
    panel.xaxis.tick_top()
    panel.set_yticks([top + 0.47 for top in lines.values()], list(lines))
    panel.tick_params(length=0, labelsize=8.5, colors=INK)
    panel.spines[:].set_visible(False)
    groups = {"another meaning: should fall": OTHER_MEANING, "same meaning: should stay": SAME_MEANING}
    for words, changes in groups.items():
        left, right = columns[changes[0]], columns[changes[-1]] + 0.96
        panel.text((left + right) / 2, -1.2, words, ha="center", fontsize=8.5, fontweight="bold", color=INK)
        panel.plot([left, right], [-1.05, -1.05], linewidth=1, clip_on=False, color=INK)
    panel.set_xlabel(
        "mean loss against identical texts; a dot is one of the 30 pairs, left 0 %, right 100 %",
        fontsize=8.5,
        color=INK,
    )


def shown(scores: pd.DataFrame, pooled_scores: pd.DataFrame) -> str:
    """What stands between the markers."""
    return f"{table(scores, pooled_scores)}\n{in_words(scores)}"


def with_made(page: str, made: Mapping[Markers, str]) -> str:
    """The page with its parts between markers replaced."""
    for (begin, end), part in made.items():
        head, rest = page.split(begin)
        page = head + begin + part + end + rest.split(end)[1]
    return page


def all_shown(
    scores: pd.DataFrame, pooled_scores: pd.DataFrame, scenarios: pd.DataFrame
) -> dict[Markers, str]:
    """By markers, what stands between them."""
    return {
        (BEGIN, END): shown(scores, pooled_scores),
        (metric_scenarios.BEGIN, metric_scenarios.END): metric_scenarios.shown(scenarios),
    }


def digest(scores_file: Path) -> str:
    return hashlib.sha256(scores_file.read_bytes()).hexdigest()


def write(out: Path, scores: pd.DataFrame, pooled_scores: pd.DataFrame, scenarios: pd.DataFrame) -> None:
    if METEOR not in scores:
        raise SystemExit("METEOR is missing and belongs into the table: install a Java runtime")
    out.mkdir(parents=True, exist_ok=True)
    files = {
        SCORES: scores,
        metric_scenarios.SCORES: scenarios,
        metric_scenarios.SHARES: metric_scenarios.shares(scenarios),
    }
    for name, frame in files.items():
        frame.to_csv(out / name, index=False, lineterminator="\n")
    page, made = out / PAGE, all_shown(scores, pooled_scores, scenarios)
    text = with_made(page.read_text(encoding="utf-8"), made) if out == DOCS else "\n".join(made.values())
    page.write_text(text, encoding="utf-8")
    about = {"Software": None, SOURCE: digest(out / SCORES)}
    picture(scores).savefig(out / PLOT, dpi=DPI, metadata=about)


def differences(scores: pd.DataFrame, pooled_scores: pd.DataFrame, scenarios: pd.DataFrame) -> list[str]:
    """What of the files in docs/ is not what the scorers give now; METEOR only where it runs."""
    kept, kept_scenarios = (pd.read_csv(DOCS / name) for name in (SCORES, metric_scenarios.SCORES))
    found = [
        *_moved_from(kept, scores, SCORES),
        *_moved_from(kept_scenarios, scenarios, metric_scenarios.SCORES),
    ]
    if not metric_scenarios.shares(kept_scenarios).equals(pd.read_csv(DOCS / metric_scenarios.SHARES)):
        found.append(f"{metric_scenarios.SHARES}: not counted from {metric_scenarios.SCORES}")
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    if page != with_made(page, all_shown(kept, pooled_scores, kept_scenarios)):
        found.append(f"{PAGE}: its checks are not those of {SCORES} and {metric_scenarios.SCORES}")
    with Image.open(DOCS / PLOT) as drawn:
        if drawn.info.get(SOURCE) != digest(DOCS / SCORES):
            found.append(f"{PLOT}: not drawn from {SCORES}")
    return found


def _moved_from(kept: pd.DataFrame, scores: pd.DataFrame, name: str) -> list[str]:
    absent = [METEOR] if METEOR not in scores else []
    try:
        pd.testing.assert_frame_equal(kept.drop(columns=absent), scores, atol=1.5 * 10**-DIGITS, rtol=0)
    except AssertionError as error:
        return [f"{name}: {error}"]
    return []


def main() -> int:
    given = _arguments()
    settings = yaml.safe_load(given.params.read_text(encoding="utf-8"))["eval"] | {"nlg": NLG}
    labelers = _labelers({"chexbert": given.chexbert, "chexbert_compact": given.compact})
    scorers = build([*families(), *given.families], settings, labelers)
    pairs = read_pairs()
    made = per_pair(pairs, scorers), pooled(pairs, labelers), per_scenario(scorers)
    if not given.check:
        write(given.out, *made)
        return 0
    found = differences(*made)
    for line in found:
        print(f"{line}\nMend: python tools/metric_checks.py")
    return int(bool(found))


def _labelers(folders: Mapping[str, Path | None]) -> list[Labeler]:
    """The rules, and by name the models whose folder is given."""
    labelers: list[Labeler] = [RulesLabeler()]
    for name, folder in folders.items():
        if folder:
            from radrl.labelers.chexbert.labeler import CheXbertLabeler

            labelers.append(CheXbertLabeler.from_folder(folder, name=name))
    return labelers


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--chexbert", type=Path, help="folder of the published CheXbert")
    parser.add_argument("--compact", type=Path, help="folder of the one that the stage labeler trained")
    parser.add_argument("--families", nargs="*", default=[], help="families of metrics that need a model")
    parser.add_argument("--params", type=Path, default=ROOT / "params.yaml")
    given = parser.parse_args()
    more = bool(given.chexbert or given.compact or given.families)
    if more and (given.check or given.out.resolve() == DOCS):
        parser.error(
            "models of your own need an --out of their own, and no --check: docs/ holds what runs everywhere"
        )
    return given


if __name__ == "__main__":
    sys.exit(main())

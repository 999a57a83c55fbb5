"""The kinds of parts and the contract of each.

A part is a function or a class. What stands before the `*` of its signature are its ingredients, handed over
by name: it names those it wants. What stands after the `*` are its settings, a key each in its section of
params.yaml, with their types and defaults. A class or function with an attribute `Section`, a pydantic model
derived from `radrl.parts.section.Section`, has its settings checked by that instead, which allows for bounds
and for checks between keys; it takes the same keys after the `*`.

A class is made once, with its ingredients, and then asked by its method. A function that names the first of
the arguments of its kind is asked itself, each time; one that does not makes such an object. Of a source and
a selection the outcome itself is wanted, so it is called once.

The first line of the docstring is what `radrl parts` prints of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from radrl.parts.section import Section


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of parts.

    Args:
        name: of the kind.
        section: the key that holds the sections of its parts.
        contract: what a part of the kind is given, and what it gives.
        ingredients: what a class, or a function that makes an object, may ask for before the `*`.
        arguments: what a function that is asked itself may ask for besides; the first tells that it is one.
        method: what an object of the kind is asked by; nothing where there is no object.
        group: of entry points that offer parts of the kind; nothing where there are built-in ones alone.
        also: ``module:Section`` of the keys that every part's section has; they are not the part's.
    """

    name: str
    section: str
    contract: str
    ingredients: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    method: str | None = None
    group: str | None = None
    also: str | None = None

    @property
    def shared(self) -> type[Section] | None:
        """The keys that every part's section has."""
        if self.also is None:
            return None
        module, _, name = self.also.partition(":")
        found: type[Section] = getattr(import_module(module), name)
        return found

    @property
    def example(self) -> str:
        """An import path such as a part of this kind could have."""
        return f"my_lab.{self.name}s:{self.name}"


KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(
            "reward",
            "arms.ARM.reward",
            "Scores generated reports for the trainer. A function `(reports, references, *, ...)` gives a "
            "number a report, not finite where it has none; it may also ask for `sample_ids`. An object is "
            "called with reports, references and sample_ids. Attributes, all optional: `clinical = True` "
            "says that it judges findings, so that 0 means that nothing was right, and that it is to read "
            'references as they were before `ingest.cleaning`; `reads = "output"` that '
            "it wants the reasoning too; `told`, further numbers of the last call for the curve. To be made "
            "an object may ask for `labeler` (of `labeler.name`), `references` (of the films the arm trains "
            "on), `missing` (what becomes of a report without a score) and `name`.",
            ("labeler", "references", "missing", "name"),
            ("reports", "references", "sample_ids", "labeler"),
            "__call__",
            "radrl.rewards",
            "radrl.rewards.base:InTheSum",
        ),
        Kind(
            "credit",
            "arms.ARM.credit",
            "Spreads a report's advantage over its tokens. A function `(rollouts, spans, *, ...)` gives an "
            "array of weights a rollout, shape (T,), 1 for a token that is left alone; `rollouts` is a "
            "`radrl.credit.base.Rollouts`, `spans` the places of its tokens in each output, shape (T, 2). An "
            "object has `weigh(rollouts)`, which gives a `radrl.credit.base.TokenWeights`; to be made it may "
            "ask for `tokenizer` (the policy's) and `labelers` (gives a labeler by its name). A setting "
            "`labeler` must name a labeler that there is.",
            ("tokenizer", "labelers"),
            ("rollouts", "spans", "labelers"),
            "weigh",
            "radrl.credits",
        ),
        Kind(
            "selection",
            "selection.own",
            "Chooses the training films that an arm sees. Called once, it gives their sample_ids in the "
            "order wanted. It may ask for `films` (a table of the training films: sample_id, study_id, "
            "patient_id, findings, impression, report, and a column of class indices for each observation), "
            "`rng` (a NumPy generator of the study's seed and the selection's name) and `seed`.",
            ("films", "rng", "seed"),
            group="radrl.selections",
        ),
        Kind(
            "source",
            "ingest",
            "Opens a data set. Called once, it gives `radrl.data.study.Record`s, a film each and those of a "
            "study one after the other, or a `radrl.data.sources.Source` that holds them. It may ask "
            "for `seed` and `image_size`. An attribute `drawn`, true or a function of its section, says that "
            "its films are no patients'.",
            ("seed", "image_size"),
            group="radrl.sources",
        ),
        Kind(
            "metric",
            "eval",
            "Scores generated reports for the tables. A function `(references, hypotheses, *, ...)` gives a "
            "value a report, which is averaged under the name it goes by, or several by name, which are put "
            "after that name. An attribute `wording = True` says that it is to read texts as `eval.cleaning` "
            "leaves them. An object has `score(references, hypotheses)`, which gives a "
            "`radrl.scoring.Scores` whose metrics begin with the name it goes by; to be made it may ask "
            "for `labelers` (those of `eval.labelers`) and `name`.",
            ("labelers", "name"),
            ("hypotheses", "references", "labelers"),
            "score",
            "radrl.metrics",
        ),
        Kind(
            "labeler",
            "labeler",
            "Reads the 14 observations out of reports. A function `(reports, *, ...)` gives class indices "
            "(`radrl.observations`), shape (N, 14). An object has `label(reports)`, which does; to be made "
            "it may ask for `models` (the folder that the stage labeler wrote), `device` (such as "
            "``cpu`` or ``cuda:0``, where params.yaml's `device` puts this process) and `name`.",
            ("models", "device", "name"),
            ("reports",),
            "label",
            "radrl.labelers",
        ),
        Kind(
            "judge",
            "judge.backend",
            "Answers prompts about reports (`radrl.scoring.judge.Judge`).",
            ("structured",),
            method="answer",
        ),
        Kind(
            "extractor",
            "reward.facts.extractor",
            "Writes a report's atomic facts (`radrl.scoring.facts.Extractor`).",
            ("judge",),
            method="extract",
        ),
        Kind(
            "entailment",
            "reward.facts.entailment",
            "Says what facts entail (`radrl.scoring.facts.Entailment`); `labeler` is the references'.",
            ("judge", "labeler"),
            method="entail",
        ),
    )
}
"""By name."""

"""radrl's rewards in other trainers: TRL's calling convention, and from that verl's and EasyR1's.

TRL asks a reward function for a number a completion, ``(prompts, completions, **columns)``, and hands it the
columns of the data set. verl asks ``compute_score(data_source, solution_str, ground_truth, extra_info)`` of
one completion, EasyR1 ``compute_score(reward_inputs)`` of a batch. None of the three is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from radrl.labelers import Labeler, one
from radrl.parts.checked import checked
from radrl.parts.choices import hint
from radrl.parts.find import find, ingredients
from radrl.parts.find import names as part_names
from radrl.reports.lists import require_equal, texts
from radrl.reports.output import FORMS
from radrl.rewards.base import InTheSum, Missing, RewardSum
from radrl.rewards.build import build

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ce_f1": {"uncertain_as_positive": False, "both_empty": 1.0},
    "bleu2": {"preparation": "whitespace"},
    "nlg": {"preparation": "basic", "bleu": 4},
    "accuracy": {"agreement": "all", "uncertain_as_positive": False},
    "mccs": {"margin": 0.4, "eps": 1e-8},
    "facts": {
        "extractor": "rules",
        "entailment": "labeler",
        "uncertain_as_positive": False,
        "beta": 1.5,
        "xi": 1e-8,
        "both_empty": 1.0,
    },
}
"""Settings that `get` need not be told: those of the rows that ship; a test holds them to the recipes."""

_OF_TRL: Final = ("completion_ids", "trainer_state", "log_extra", "log_metric", "environments")
"""What TRL hands over beside the columns of the data set."""

Completion = str | Sequence[Mapping[str, Any]]
"""What TRL hands over: a text, or messages where prompts are conversations."""


class TrainerReward:
    """A reward as TRL calls it.

    Args:
        name: what its curve is called.
        reward: of the one part.
        column: of the data set, which holds the reference reports.
    """

    def __init__(self, name: str, reward: RewardSum, column: str) -> None:
        self.__name__ = name  # TRL names the curve by it
        self.column = column
        self._reward = reward
        self._open, self._blocks = False, ExitStack()

    def close(self) -> None:
        """End what its calls have started, such as another process; the end of Python does so too."""
        self._blocks.close()
        self._open = False

    @property
    def missing(self) -> Missing:
        """What becomes of a report without a score."""
        return self._reward.parts[0].missing

    def __call__(
        self, prompts: Sequence[Any] | None, completions: Sequence[Completion], **columns: Any
    ) -> list[float]:
        """Score completions.

        Args:
            prompts: not read.
            completions: N texts, or N lists of messages, of which the last is read.
            **columns: of the data set, N values each: the references in the column of `column`, ids for
                messages in `sample_id` where that is there; and what TRL hands over besides.

        Returns:
            N numbers, all finite unless the reward was made with ``missing="skip"``, which gives NaN.

        Raises:
            TypeError: when a column holds no texts.
            ValueError: when the column of references is missing or of another length.
            radrl.rewards.base.RewardError: for a report without a finite score.
        """
        if isinstance(completions, str):
            raise TypeError("completions is one text; give a list of completions")
        outputs = [_text(completion, place) for place, completion in enumerate(completions)]
        if self.column not in columns:
            known = [name for name in columns if name not in _OF_TRL]
            raise ValueError(
                f"reward {self.__name__} reads the references in column {self.column!r}, which there is not"
                f"{hint(self.column, known, 'Columns')}; get({self.__name__!r}, column=...) names another"
            )
        references = texts(self.column, columns[self.column])
        require_equal({"completions": len(outputs), self.column: len(references)})
        ids = columns.get("sample_id") or [f"(completion {place})" for place in range(len(outputs))]
        (part,) = self._reward.parts
        if not self._open:
            self._blocks.enter_context(self._reward.opened())
            self._open = True
        scores = self._reward.score_part(part, outputs, references, ids)
        if log_metric := columns.get("log_metric"):
            for what, value in part.reward.told.items():
                log_metric(f"rewards/{self.__name__}/{what}", value)
        return scores


def names() -> list[str]:
    """The rewards that `get` knows: radrl's, then those of installed packages.

    Example:
        >>> import radrl
        >>> radrl.rewards.names()[:5]
        ['ce_f1', 'bleu2', 'nlg', 'accuracy', 'mccs']
    """
    return part_names("reward")


def get(
    name: str,
    *,
    column: str = "reference",
    labeler: str | Labeler = "rules",
    references: Iterable[str] = (),
    output: str = "plain",
    missing: Missing = "raise",
    **settings: Any,
) -> TrainerReward:
    """A reward as `trl.GRPOTrainer` takes it in `reward_funcs`.

    Args:
        name: one of `names`, or what one of your own goes by, whose import path is the setting `part`.
        column: of the data set, which holds the reference reports.
        labeler: who reads labels: the name of one that needs no model, or what `radrl.load_labeler` gave.
        references: of the films that are trained on, for the reward ``nlg``, which counts in them.
        output: ``plain``, or ``think_report``, where the report stands in a block <report> (MRG-R1).
        missing: what becomes of a report without a score: ``raise``, or ``skip``, which gives NaN.
        **settings: the reward's own; `DEFAULTS` has those that may be left out. Weights are the trainer's.

    Returns:
        The reward; called with prompts, completions and columns it gives a number a completion.

    Raises:
        ValueError: when there is no such reward, labeler or form, or a setting is missing or wrong.
        radrl.scoring.ScoringError: when a judge refuses its settings.

    Example:
        >>> import radrl
        >>> reward = radrl.rewards.get("ce_f1")
        >>> reward(None, ["Small effusion.", "Clear lungs."], reference=["Large effusion."] * 2)
        [1.0, 0.0]
    """
    if output not in FORMS:
        raise ValueError(f"output is {output!r}{hint(output, FORMS, 'Valid')}")
    if missing not in ("raise", "skip"):
        raise ValueError(f"missing is {missing!r}; give 'raise' or 'skip'")
    part = find("reward", name, settings, key="name")
    known = texts("references", references)
    if "references" in ingredients(part.object) and not part.is_function and not known:
        raise ValueError(
            f"reward {name} counts in the references of the training films: give references=[...]"
        )
    in_the_sum = [key for key in InTheSum.model_fields if key in part.section.model_fields]
    zeros = dict.fromkeys(in_the_sum, 0.0)  # a weight that changes is the trainer's to change
    own = checked(part, settings, defaults={**DEFAULTS.get(name, {}), **zeros}, without=in_the_sum)
    sum_of_one = build(
        {name: own | {"weight": 1.0, "missing": missing}},
        one(labeler),
        references=known,
        output=output,
    )
    return TrainerReward(name, sum_of_one, column)


class ForVerl:
    """One or several rewards as verl's `custom_reward_function` calls them; see `for_verl`."""

    def __init__(self, rewards: Sequence[TrainerReward], weights: Sequence[float]) -> None:
        self._rewards, self._weights = rewards, weights

    def __call__(
        self, data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any
    ) -> float:
        """Score one completion.

        Args:
            data_source: not read.
            solution_str: what the policy wrote.
            ground_truth: the reference report.
            extra_info: not read.
            **_: what verl hands over besides; not read.

        Returns:
            The weighted sum.

        Raises:
            As `TrainerReward`.
        """
        return _summed(self._rewards, self._weights, [solution_str], [ground_truth])[0]["overall"]


class ForEasyR1:
    """One or several rewards as EasyR1's `reward_function` calls them; see `for_easyr1`."""

    def __init__(self, rewards: Sequence[TrainerReward], weights: Sequence[float]) -> None:
        self._rewards, self._weights = rewards, weights

    def __call__(self, reward_inputs: Sequence[Mapping[str, Any]], **_: Any) -> list[dict[str, float]]:
        """Score a batch.

        Args:
            reward_inputs: N times `response` and `ground_truth`.
            **_: what EasyR1's `reward_function_kwargs` hold; not read.

        Returns:
            N times each reward by its name, and their weighted sum as `overall`.

        Raises:
            TypeError: when it is handed one completion.
            Else as `TrainerReward`.
        """
        if isinstance(reward_inputs, Mapping):
            raise TypeError("reward_inputs is one completion; let EasyR1's reward_type be batch")
        outputs, truths = ([own[key] for own in reward_inputs] for key in ("response", "ground_truth"))
        return _summed(self._rewards, self._weights, outputs, truths)


def for_verl(*rewards: TrainerReward, weights: Sequence[float] | None = None) -> ForVerl:
    """Rewards for verl, whose `custom_reward_function` names a file and a function in it.

    Args:
        *rewards: what `get` gave, at least one.
        weights: one each; by default 1.

    Returns:
        A function of data_source, solution_str, ground_truth and extra_info that gives the weighted sum.

    Raises:
        ValueError: when there are other numbers of weights and rewards, or a reward may skip a report.

    Example:
        >>> import radrl
        >>> compute_score = radrl.rewards.for_verl(radrl.rewards.get("ce_f1"))
        >>> compute_score("openi", "Small effusion.", "Large effusion.")
        1.0
    """
    return ForVerl(*_weighted(rewards, weights))


def for_easyr1(*rewards: TrainerReward, weights: Sequence[float] | None = None) -> ForEasyR1:
    """Rewards for EasyR1, whose `reward_function` names a file and a function in it; `reward_type` is batch.

    Args:
        *rewards: what `get` gave, at least one.
        weights: one each; by default 1.

    Returns:
        A function of a batch that gives each reward by name, and the weighted sum as `overall`.

    Raises:
        ValueError: as `for_verl`.

    Example:
        >>> import radrl
        >>> compute_score = radrl.rewards.for_easyr1(radrl.rewards.get("ce_f1"), weights=[0.5])
        >>> compute_score([{"response": "Small effusion.", "ground_truth": "Large effusion."}])
        [{'ce_f1': 1.0, 'overall': 0.5}]
    """
    return ForEasyR1(*_weighted(rewards, weights))


def _weighted(
    rewards: Sequence[TrainerReward], weights: Sequence[float] | None
) -> tuple[list[TrainerReward], list[float]]:
    if not rewards:
        raise ValueError("give a reward, such as radrl.rewards.get('mccs')")
    for each in rewards:
        if not isinstance(each, TrainerReward):
            raise TypeError(f"{each!r} is no reward; give what radrl.rewards.get gives")
        if each.missing != "raise":
            raise ValueError(f"reward {each.__name__} may skip reports, which this trainer has no way to say")
    shares = [1.0] * len(rewards) if weights is None else [float(weight) for weight in weights]
    require_equal({"rewards": len(rewards), "weights": len(shares)})
    return list(rewards), shares


def _summed(
    rewards: Sequence[TrainerReward], weights: Sequence[float], outputs: Sequence[str], truths: Sequence[str]
) -> list[dict[str, float]]:
    scores = {each.__name__: each(None, outputs, **{each.column: truths}) for each in rewards}
    rows = [dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True)]
    return [
        row | {"overall": sum(weight * value for weight, value in zip(weights, row.values(), strict=True))}
        for row in rows
    ]


def _text(completion: Completion, place: int) -> str:
    """What the policy wrote; of messages the last one's text."""
    if isinstance(completion, str):
        return completion
    try:
        content = completion[-1]["content"]
        return content if isinstance(content, str) else "".join(piece.get("text", "") for piece in content)
    except (TypeError, KeyError, IndexError, AttributeError):
        raise TypeError(
            f"completions[{place}] is neither a text nor a list of messages with role and content"
        ) from None

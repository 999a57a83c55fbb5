"""What every stage of a recipe computes, holds and takes, from the recipe, a policy's shape and a card."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from radrl.plan import counts, hours, peak_memory, shapes
from radrl.plan.counts import Sample, Tokens
from radrl.plan.films import Films, of_selection
from radrl.plan.memory import FLOAT, Engine, Setting
from radrl.plan.peak_memory import Items, Model
from radrl.reports import prompts
from radrl.training import length
from radrl.training.preflight import check_redrawing

if TYPE_CHECKING:
    from radrl.params.schema import Params
    from radrl.params.training import Arm

NEED_ROLLOUTS: Final = ("ddsampling", "most_diverse")
"""Selections that read rollouts of the cold-started policy."""
DTYPE_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a recipe.

    Args:
        name: as DVC has it.
        films: samples that it goes through.
        sequences: reports that are written, or examples that are learned.
        processes: that share it.
        tokens: what is computed, over all processes.
        seconds: how long it takes.
        moments: by moment the bytes that a device holds, item by item; empty where it needs none.
    """

    name: str
    films: int
    sequences: int
    processes: int
    tokens: Tokens
    seconds: float
    moments: dict[str, Items] = field(default_factory=dict)

    @property
    def fullest(self) -> str:
        """The moment at which most is held; empty where nothing is."""
        return max(self.moments, key=lambda name: sum(self.moments[name].values()), default="")

    @property
    def items(self) -> Items:
        """What is held then."""
        return self.moments.get(self.fullest, {})

    @property
    def bytes(self) -> int:
        """How much that is."""
        return sum(self.items.values())


@dataclass(frozen=True, slots=True)
class Asked:
    """What is planned for.

    Args:
        params: the recipe.
        shape: of the policy.
        films: of each split.
        card: what a device can do.
        pace: what does not depend on it.
        devices: that share a training.
        engine: how they do.
        workers: that share the films of label, rollouts, ddsampling, generate and eval.
    """

    params: Params
    shape: shapes.Shape
    films: Films
    card: hours.Card
    pace: hours.Pace
    devices: int
    engine: Engine
    workers: int = 1


Planned = Callable[[Mapping[str, Any], Engine | None], Stage]
"""Plans a stage, some of its keys changed, and perhaps the engine."""


@dataclass(frozen=True, slots=True)
class Job:
    """A stage that is to be planned.

    Args:
        name: as DVC has it.
        plan: plans it.
        kind: training, lessons or writing; empty for what needs no policy.
        key: where its settings stand in params.yaml.
        settings: them.
    """

    name: str
    plan: Planned
    kind: str = ""
    key: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _plain(plan: Callable[[], Stage]) -> Planned:
    return lambda changed, engine: plan()


class Planner:
    """Plans the stages of one recipe.

    Args:
        asked: what is planned for.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked, self.params = asked, asked.params
        self.sizes = asked.shape.sizes
        self._model = cache(lambda: shapes.model(asked.shape))
        self._counted: dict[str, shapes.Counted] = {}

    def image_tokens(self) -> int:
        """Of a film."""
        return self._patches() // self.sizes.merge**2

    def sample(self, form: str = "plain", longest: int = 0) -> Sample:
        """A sample of the corpus under the prompt of a form of output, with a report of at most `longest`.

        What stands in the places of a prompt is taken to be as long as it may be.
        """
        own = self.params.ingest
        pictures = math.ceil(self.asked.films.of_a_study) if own.sample == "study" else 1
        prompt = shapes.prompt_tokens(
            self.asked.shape,
            prompts.longest(getattr(self.params.prompts, form)),
            pictures,
            self.image_tokens(),
        )
        usual = self.asked.pace.report_tokens * (2 if form == "think_report" else 1)
        return Sample(pictures, pictures * self._patches(), prompt, min(longest, round(usual)))

    def _patches(self) -> int:
        least, most = shapes.pixels(self.asked.shape)
        return counts.patches(
            self.params.ingest.image_size,
            patch=self.sizes.patch,
            merge=self.sizes.merge,
            least=least,
            most=most,
        )

    def model(self, tunes: str | None, lora: Mapping[str, Any] | None = None) -> Model:
        """The policy with what trains counted."""
        key = f"{tunes} {lora}"
        if key not in self._counted:
            self._counted[key] = shapes.count(self._model(), tunes, lora)
        found = self._counted[key]
        return Model(self.sizes, found.weights, found.adapted, int(lora["rank"]) if lora else 0)

    def jobs(self) -> Iterator[Job]:
        """Every stage that an arm needs, in their order."""
        params = self.params
        trained = any(arm.start == "sft" for arm in params.arms.values())
        draws = any(arm.selection in NEED_ROLLOUTS for arm in params.arms.values())
        for plain in (self.ingest, self.labeler, self.label, self.policy):
            yield Job(plain.__name__, _plain(plain))
        if trained or draws:
            yield Job("sft", self.sft, "lessons", "sft", params.sft.model_dump())
        if draws:
            yield Job("rollouts", self.rollouts, "writing", "rollouts", params.rollouts.model_dump())
            yield Job("ddsampling", _plain(self.ddsampling))
        yield Job("selection", _plain(self.selection))
        for name, arm in params.arms.items():
            if arm.reward is not None:
                train = partial(self.train, name, arm)
                yield Job(f"train@{name}", train, "training", "training", self.settings(arm))
        for name, arm in params.arms.items():
            own = params.generate.model_dump()
            yield Job(f"generate@{name}", partial(self.generate, name, arm), "writing", "generate", own)
            yield Job(f"eval@{name}", _plain(partial(self.eval, name)))

    def ingest(self) -> Stage:
        """Read, fit and write every film."""
        films = self.asked.films.all
        workers = self.params.ingest.workers or self.params.threads
        drawn = "phantom" in (self.params.ingest.source, self._images())
        pace = self.asked.pace.films_drawn if drawn else self.asked.pace.films
        return Stage("ingest", films, 0, workers, Tokens(), films / pace / workers)

    def _images(self) -> str:
        own = self.params.ingest.parts().get(self.params.ingest.source)
        return str(getattr(own, "images", ""))

    def labeler(self) -> Stage:
        """Train the compact CheXbert, where the recipe has one."""
        compact = self.params.labeler.parts().get("compact")
        if compact is None:
            return Stage("labeler", 0, 0, 1, Tokens(), 0.0)
        texts = compact.recombined + compact.reworded + self.asked.films.pretrain
        operations = 6 * shapes.compact_weights(compact) * texts * compact.max_tokens
        return Stage(
            "labeler", 0, texts, 1, Tokens(reports=texts), operations / (self.asked.card.training * 1e12)
        )

    def label(self) -> Stage:
        """Read the labels of every reference."""
        films = self.asked.films.all
        own = self._reader(self.params.labeler.name)
        return self._reading("label", films, films, [self.params.labeler.name], own)

    def policy(self) -> Stage:
        """Point at weights, or build and pretrain the laptop policy."""
        own, films = self.params.policy, self.asked.films.pretrain
        if own.path is not None or own.pretrain is None or own.vision is None:
            return Stage("policy", 0, 0, 1, Tokens(), 0.0)
        looked = Tokens(patches_learned=own.vision.epochs * films * self._patches())
        settings = own.pretrain.model_dump()
        return self._lessons("policy", "policy.pretrain", settings, films, more=looked)

    def sft(self, changed: Mapping[str, Any], engine: Engine | None = None) -> Stage:
        """The cold start."""
        settings = self.params.sft.model_dump() | dict(changed)
        return self._lessons(
            "sft", "sft", settings, self.asked.films.train, processes=self.asked.devices, engine=engine
        )

    def _lessons(
        self,
        name: str,
        section: str,
        settings: dict[str, Any],
        films: int,
        *,
        processes: int = 1,
        more: Tokens | None = None,
        engine: Engine | None = None,
    ) -> Stage:
        tunes = settings["tunes"]
        lora = settings.get("lora") if tunes == "lora" else None
        model = self.model(tunes, lora)
        own = self._setting(settings, processes, engine)
        sample = self.sample(longest=settings["max_tokens"])
        tokens = counts.supervised(settings, sample, films) + (more or Tokens())
        moments = peak_memory.of_fine_tuning(model, own, settings, sample, tunes=tunes, section=section)
        seconds = hours.seconds(tokens, self._costs(model, own, tunes), self.asked.card, processes=processes)
        return Stage(name, films, settings["epochs"] * films, processes, tokens, seconds, moments)

    def rollouts(self, changed: Mapping[str, Any], engine: Engine | None = None) -> Stage:
        """K reports a training film."""
        settings = self.params.rollouts.model_dump() | dict(changed)
        return self._writing("rollouts", settings, self.asked.films.train, settings["samples"])

    def generate(
        self, name: str, arm: Arm, changed: Mapping[str, Any], engine: Engine | None = None
    ) -> Stage:
        """Reports to score."""
        settings = self.params.generate.model_dump() | dict(changed)
        films = getattr(self.asked.films, settings["split"])
        return self._writing(f"generate@{name}", settings, films, 1, form=arm.output)

    def _writing(
        self, name: str, settings: Mapping[str, Any], films: int, samples: int, form: str = "plain"
    ) -> Stage:
        """Each worker writes on its share of the films, by transformers' loop or by vLLM."""
        model, workers = self.model(None), self.asked.workers
        longest, share = settings["max_new_tokens"], math.ceil(films / workers)
        batch, sample = min(settings["batch_size"], share), self.sample(form, longest)
        own = Setting(DTYPE_BYTES[self.params.policy.dtype], autocast=False)
        costs, reports = self._costs(model, own, None), batch * samples
        rows: int | None = None
        if settings["engine"] == "vllm":
            most = sample.prompt + longest
            items = peak_memory.persistent_items(model, own, self.asked.card, self.params.compute.vllm, most)
            fit = items["cache"] // peak_memory.of_a_report(model, own, most)
            rows = min(int(self.asked.pace.vllm_rows), fit)
            usual = peak_memory.of_a_report(model, own, sample.prompt + sample.report // 2)
            costs = replace(costs, loop="vllm", cached_bytes=min(rows, reports) * usual)
        else:
            items = peak_memory.of_reports(model, own, sample, films=batch, rows=reports, longest=longest)
        tokens = counts.writing(sample, share, samples=samples, batch=batch, longest=longest, rows=rows)
        seconds = hours.seconds(tokens, costs, self.asked.card)
        whole = replace(counts.times(tokens, workers), reports=0)
        return Stage(name, films, films * samples, workers, whole, seconds, {"generation": items})

    def ddsampling(self) -> Stage:
        """Read the labels of every rollout."""
        films, name = self.asked.films.train, self.params.labeler.name
        reports = films * self.params.rollouts.samples
        return self._reading("ddsampling", films, reports, [name], self._reader(name))

    def selection(self) -> Stage:
        """The subsets that need no policy."""
        return Stage("selection", self.asked.films.train, 0, 1, Tokens(), 0.0)

    def eval(self, name: str) -> Stage:
        """Read the labels of an arm's reports and of their references; wording is left out."""
        films = getattr(self.asked.films, self.params.generate.split)
        readers = list(self.params.eval.labelers)
        own = max(self._reader(each) for each in readers)
        return self._reading(f"eval@{name}", films, 2 * films * len(readers), readers, own)

    def _reading(self, name: str, films: int, reports: int, readers: list[str], weights: int) -> Stage:
        seconds = sum(reports / len(readers) / self._texts(each) for each in readers) / self.asked.workers
        moments = {"reading": {"labeler": FLOAT * weights}} if weights else {}
        return Stage(name, films, 0, self.asked.workers, Tokens(reports=reports), seconds, moments)

    def train(self, name: str, arm: Arm, changed: Mapping[str, Any], engine: Engine | None = None) -> Stage:
        """One arm's training."""
        settings = self.settings(arm) | dict(changed)
        tunes, processes = settings["tunes"], self.asked.devices
        check_redrawing(settings, "training.dynamic_sampling", processes)
        model = self.model(tunes, settings["lora"] if tunes == "lora" else None)
        own = self._setting(settings, processes, engine, start=bool(settings["kl"] or arm.oracle))
        longest = settings["max_new_tokens"]
        sample = self.sample(arm.output, longest)
        films = of_selection(self.params, self.asked.films, arm.selection)
        watched = min(self.asked.films.val, settings["watch"]["films"]) if settings["watch"] else 0
        equal = self.asked.pace.equal_groups
        tokens = counts.training(
            settings,
            sample,
            films,
            processes=processes,
            start=own.start,
            watched=watched,
            equal_groups=equal,
        )
        readers = {
            self.params.labeler.name,
            *(getattr(each, "labeler", None) for each in arm.credit.parts().values()),
        }
        weights = sum(self._reader(each) for each in readers if isinstance(each, str))
        moments = peak_memory.of_training(model, own, settings, sample, tunes=tunes, labeler=weights)
        if settings["engine"] == "vllm":
            drawn_by = Setting(2 if settings["bf16"] else FLOAT, autocast=False)
            at = self.asked.card, self.params.compute.vllm, sample.prompt + longest
            held = peak_memory.persistent_items(self.model(None), drawn_by, *at)  # from its start to its end
            beside = sum(held.values())
            moments = {moment: items | {"vllm": beside} for moment, items in moments.items()}
        costs = self._costs(model, own, tunes)
        if settings["engine"] == "hf_bfloat16":
            copied = DTYPE_BYTES["bfloat16"]
            # its steps keep keys and values between batches, those of halves of a batch too
            beside = copied * model.weights.all + 2 * moments["generation"]["cache"]
            moments = {moment: items | {"copy that writes": beside} for moment, items in moments.items()}
            read = costs.weight_bytes if own.autocast else costs.weight_bytes * copied // own.frozen_bytes
            costs = replace(costs, loop="recorded", weight_bytes=read, gathered_bytes=0)  # once a batch
        seconds = hours.seconds(tokens, costs, self.asked.card, processes=processes)
        seconds += tokens.reports / self._texts(self.params.labeler.name) / processes
        rounds = length.batches(settings, films)
        drawn = rounds * settings["prompts_per_step"] * settings["rollouts"]
        drawn += counts.redrawing(settings, sample, rounds, equal).reports
        return Stage(f"train@{name}", films, drawn, processes, tokens, seconds, moments)

    def settings(self, arm: Arm) -> dict[str, Any]:
        """What an arm trains by."""
        return length.of_arm(self.params.training.model_dump(), arm.training)

    def _setting(
        self, settings: Mapping[str, Any], processes: int, engine: Engine | None, *, start: bool = False
    ) -> Setting:
        where = settings.get("frozen_start", self.params.compute.frozen_start)
        return Setting(
            frozen_bytes=DTYPE_BYTES[self.params.policy.dtype],
            autocast=settings["bf16"],
            eight_bit=settings["optimizer"] == "adamw_8bit",
            start=start,
            start_on_host=where == "host",
            checkpointing=settings.get("gradient_checkpointing", False),
            accelerator=self.asked.card.name != "cpu",
            four_bit=settings["tunes"] == "lora" and bool(settings["lora"].get("quantise")),
            engine=engine or self.asked.engine,
            processes=processes,
        )

    def _costs(self, model: Model, own: Setting, tunes: str | None) -> hours.Costs:
        tied = bool(getattr(self.asked.shape.config, "tie_word_embeddings", False))
        return hours.costs_of(model, own, tunes, tied=tied)

    def _reader(self, name: str) -> int:
        """Weights of a labeler."""
        if name == "chexbert":
            return peak_memory.CHEXBERT
        compact = self.params.labeler.parts().get("compact")
        return shapes.compact_weights(compact) if name == "chexbert_compact" and compact else 0

    def _texts(self, name: str) -> float:
        if name == "chexbert":
            return self.asked.card.texts
        return self.asked.pace.texts_compact if name == "chexbert_compact" else self.asked.pace.texts_rules

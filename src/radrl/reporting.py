"""Reports on films of no study: how an arm is asked, which films, who writes, and which words weigh.

Nothing here trains or scores. A film is shown as ingest would put it into the corpus.

Words weigh by DiTPO's gradient (DEER, eq. 9 to 12). Training weighs a rollout's tokens by what they do to the
reference's findings. On a film without a reference the targets are the findings that the labeler reads of the
report itself, so heavy words are those by which the report says what it says. They show no place in the film.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from radrl.data import images
from radrl.data.quarantine import REASONS, Refused
from radrl.labelers import Labeler
from radrl.params.schema import Params, read
from radrl.parts.choices import near
from radrl.reports import prompts
from radrl.reports.output import report_of

if TYPE_CHECKING:
    from radrl.policy.writer import Writer

FOLDER = Path("data/06_models/arms")
"""Where the stage train writes the arms' policies, by name."""

ENDINGS = (".png", ".jpg", ".jpeg", ".dcm", ".dicom")
"""Of a folder's files these are films; a file that is named itself may have any name."""
LABELERS = Path("data/06_models/labeler")
"""What the stage labeler wrote."""
Weighed = list[tuple[str, float]]
"""The report in pieces of text with their weights, at least 1; the pieces in a row are the report."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a policy is asked: what the stages ingest and generate do with a film, and nothing else.

    Args:
        prompt: the instruction, which may have places (`radrl.reports.prompts`).
        form: what of the output is the report, one of `radrl.reports.output.FORMS`.
        image_size: side of the films in pixels.
        image_fit: how films are brought to it, one of `radrl.data.images.FITS`.
        sample: what one report is on, `image` or `study`.
        engine: who writes, one of `radrl.policy.writer.ENGINES`.
        batch_size: samples at once.
        draw: max_new_tokens, temperature, top_p.
        seed: of the draws when temperature is above 0.
        dtype: of the weights.
        device: where the policy computes.
        threads: of torch.
    """

    prompt: str
    form: str
    image_size: int
    image_fit: str
    sample: str
    engine: str
    batch_size: int
    draw: Mapping[str, Any]
    seed: int
    dtype: str
    device: str
    threads: int


@dataclass(frozen=True, slots=True)
class TrainedArm:
    """An arm that has trained.

    Args:
        name: of the arm.
        folder: its policy's.
        asked: how it is asked.
        params: the whole of params.yaml.
    """

    name: str
    folder: Path
    asked: Asked
    params: Params


def trained(root: Path) -> list[str]:
    """The arms that have a policy, in the order of their names.

    Args:
        root: the project's folder.
    """
    return sorted(folder.name for folder in (root / FOLDER).glob("*") if any(folder.iterdir()))


def find_arm(root: Path, name: str) -> TrainedArm:
    """An arm of a project.

    Args:
        root: the project's folder.
        name: of the arm, under `arms` in params.yaml.

    Returns:
        The arm with what params.yaml says of it now.

    Raises:
        radrl.params.messages.ParamsError: when params.yaml is not valid.
        ValueError: when params.yaml has no such arm.
        FileNotFoundError: when it has not trained.
    """
    params = read(root / "params.yaml")
    there = trained(root)
    if name not in params.arms:
        raise ValueError(
            f"params.yaml has no arm {name!r}{near(name, there)} Trained are: {', '.join(there) or 'none'}"
        )
    if name not in there:
        raise FileNotFoundError(
            f"arm {name} has no policy at {FOLDER / name}; trained are {', '.join(there) or 'none'}. "
            f"Mend: radrl repro train@{name}"
        )
    return TrainedArm(name, root / FOLDER / name, arm_prompt(params, name), params)


def arm_prompt(params: Params, name: str) -> Asked:
    """How an arm is asked.

    Args:
        params: the whole of params.yaml.
        name: of the arm.
    """
    form, generate = params.arms[name].output, params.generate
    return Asked(
        prompt=params.prompts.model_dump()[form],
        form=form,
        image_size=params.ingest.image_size,
        image_fit=params.ingest.image_fit,
        sample=params.ingest.sample,
        engine=generate.engine,
        batch_size=generate.batch_size,
        draw=generate.model_dump(include={"max_new_tokens", "temperature", "top_p"}),
        seed=params.seed,
        dtype=params.policy.dtype,
        device=params.device,
        threads=params.threads,
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """What one report is on.

    Args:
        name: for a person: the film's path, or the folder's.
        paths: of its films, one or more.
    """

    name: str
    paths: tuple[Path, ...]


class FilmError(ValueError):
    """A film that cannot be shown to a policy; the message names the file, the reason and the mend."""


def samples(paths: Sequence[Path], sample: str) -> list[Sample]:
    """What is reported on.

    Args:
        paths: films, and folders of films.
        sample: `image`: a report a film; `study`: one a folder, and one on all films named by themselves.

    Returns:
        The samples in the order given, a folder's films by name.

    Raises:
        FilmError: for a folder without a film.
    """
    if sample == "image":
        films = [film for path in paths for film in _films(path)]
        return [Sample(str(film), (film,)) for film in films]
    folders = [Sample(str(path), tuple(_films(path))) for path in paths if path.is_dir()]
    alone = tuple(path for path in paths if not path.is_dir())
    return [*([Sample(", ".join(map(str, alone)), alone)] if alone else []), *folders]


def _films(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
    if not found:
        raise FilmError(f"{path}: no film in this folder; films end in {', '.join(ENDINGS)}")
    return found


def film_as_seen(path: Path, asked: Asked, *, name: str | None = None) -> bytes:
    """A film as the policy sees it.

    Args:
        path: PNG, JPEG or DICOM.
        asked: says size and fit.
        name: of the film in messages; by default its path.

    Returns:
        The PNG that ingest would put into the corpus.

    Raises:
        FilmError: when ingest would refuse it.
    """
    try:
        film = images.decode(path)
        return images.encode_png(images.fit(film, size=asked.image_size, how=asked.image_fit))  # type: ignore[arg-type]
    except Refused as refused:
        raise FilmError(
            f"{name or path}: {refused.detail} ({REASONS[refused.reason]}); mend it, or leave it out"
        ) from None


def batches(given: Sequence[Sample], size: int) -> Iterator[Sequence[Sample]]:
    """The samples, several at once.

    Args:
        given: all of them.
        size: of a batch.
    """
    for start in range(0, len(given), size):
        yield given[start : start + size]


@dataclass(frozen=True, slots=True)
class Report:
    """What a policy wrote on a sample.

    Args:
        text: the report.
        output: all it wrote; of an arm that is asked for reasoning more than the report.
        ended: whether the policy ended it; else it was cut off at `max_new_tokens`.
    """

    text: str
    output: str
    ended: bool


class Reporter:
    """A policy that is open; close it, or use it as a context.

    Args:
        writer: behind its engine.
        asked: how it is asked.

    Attributes:
        device: what computes, for a person.
    """

    def __init__(self, writer: Writer, asked: Asked) -> None:
        self._writer, self._asked = writer, asked
        self._written = 0
        self.device = writer.device

    @classmethod
    def open(cls, folder: Path, asked: Asked) -> Reporter:
        """Load a policy.

        Args:
            folder: the policy's.
            asked: how it is asked.

        Raises:
            FileNotFoundError, ValueError: as `radrl.policy.folder.load`.
        """
        from transformers.utils import logging

        from radrl.policy.engines import open_writer

        logging.disable_progress_bar()  # of weights that load in a second
        writer = open_writer(
            asked.engine, folder, dtype=asked.dtype, device=asked.device, threads=asked.threads
        )
        return cls(writer, asked)

    def write(
        self,
        films: Sequence[Sequence[bytes]],
        *,
        first: int | None = None,
        known: Sequence[prompts.Known] | None = None,
    ) -> list[Report]:
        """Write on samples; draws, if any, follow from the seed and a sample's place among all.

        Args:
            films: the films of B samples, of `radrl.reporting.film_as_seen`, one or more each.
            first: the place of the first; by default after all that were written so far.
            known: of each by place of the prompt what is known of it; nothing where nothing is.

        Returns:
            B reports.
        """
        first = self._written if first is None else first
        self._written = first + len(films)
        template = self._asked.prompt
        asked = (
            prompts.fill(template, {}) if known is None else [prompts.fill(template, own) for own in known]
        )
        drawn = self._writer.write(films, asked, **self._asked.draw, seed=self._asked.seed, first=first)
        return [
            Report(report_of(output.text, self._asked.form), output.text, output.ended) for (output,) in drawn
        ]

    def close(self) -> None:
        """Let go of the engine."""
        self._writer.close()

    def __enter__(self) -> Reporter:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


class Weigher:
    """Weighs the words of reports with a labeler that the study trained.

    Args:
        arm: whose tokenizer cuts the reports.
        root: the project's folder.

    Raises:
        ValueError: when no labeler with gradients is there.
    """

    def __init__(self, arm: TrainedArm, root: Path) -> None:
        from radrl.credit.build import build
        from radrl.labelers import LabelerError
        from radrl.parts.find import PartError
        from radrl.pipelines.analyses.groups import load_tokenizer

        own = arm.params.analyses.credit.model_dump()["gradient"]
        if own is None:
            raise ValueError(
                "analyses.credit.gradient is null in params.yaml, which says how words are weighed"
            )
        self._tokenizer = load_tokenizer(arm.folder)
        try:
            self._credit = build({"gradient": own}, self._tokenizer, _labelers(arm, root / LABELERS))
        except (LabelerError, PartError, FileNotFoundError) as error:
            raise ValueError(
                f"words are weighed by the labeler {own['labeler']}, which is not there: {error}"
            ) from None

    def weigh(self, reports: Sequence[str]) -> list[Weighed]:
        """Weigh the words of reports.

        Args:
            reports: N texts.

        Returns:
            For each its pieces with their weights; an empty report has none.
        """
        import pandas as pd

        from radrl.pipelines.analyses.groups import tokenised

        places = [f"report {number}" for number in range(1, len(reports) + 1)]
        frame = pd.DataFrame({"report": reports, "reference": reports, "sample_id": places})
        rollouts = tokenised(frame, self._tokenizer)
        found = self._credit.weigh(rollouts)
        assert found is not None  # the gradient weighs every text
        rows = zip(rollouts.outputs, found.values, found.spans, strict=True)
        return [
            [(text[begin:end], float(value)) for value, (begin, end) in zip(values, spans, strict=True)]
            for text, values, spans in rows
        ]


def _labelers(arm: TrainedArm, models: Path) -> Callable[[str], Labeler]:
    def get(name: str) -> Labeler:
        from radrl.labelers import build

        section, device, threads = arm.params.labeler.model_dump(), arm.params.device, arm.params.threads
        return build(section, models, name=name, device=device, threads=threads)

    return get

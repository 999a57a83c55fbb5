"""A trained arm that writes reports on films from files, as the stages ingest and generate would."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from radrl.data import images
from radrl.reports.output import report_of
from radrl.rexrank.form import FormError
from radrl.storage import yaml_files
from radrl.storage.digests import sha256

if TYPE_CHECKING:
    from radrl.params.schema import Params
    from radrl.policy.writers.base import Writer

CATALOG: Final = Path("conf/base/catalog.yml")
GLOBALS: Final = Path("conf/base/globals.yml")


class Arm:
    """What an arm's reports follow from; `opened` makes it write.

    Args:
        name: of the arm.
        params: params.yaml.
        policy: its policy's folder.

    Raises:
        FormError: there is no such arm, or it has no policy yet.
    """

    def __init__(self, name: str, params: Params, policy: Path) -> None:
        if name not in params.arms:
            raise FormError(f"params.yaml has no arm {name!r}; there are {', '.join(params.arms)}")
        if not (policy / "config.json").is_file():
            raise FormError(f"no policy of {name} in {policy}. Mend: radrl repro train@{name}, or --policy")
        self.policy = policy
        self.sample, self.views = params.ingest.sample, params.ingest.views
        self._params = params
        self._form = params.arms[name].output

    @property
    def at_once(self) -> int:
        """Studies that are written at a time."""
        return self._params.generate.batch_size

    @property
    def about(self) -> dict[str, str]:
        """What the reports depend on: the policy's files, and every parameter that shapes them."""
        files = sorted(file for file in self.policy.rglob("*") if file.is_file())
        settings = self._params.generate.model_dump(mode="json")
        settings |= {"prompt": self._prompt, "form": self._form, "seed": self._params.seed}
        settings |= {key: getattr(self._params.ingest, key) for key in ("image_size", "image_fit")}
        settings |= {"sample": self.sample, "views": list(self.views), "dtype": self._params.policy.dtype}
        return {
            "policy": " ".join(sha256(file) for file in files),
            "settings": json.dumps(settings, sort_keys=True),
        }

    @contextmanager
    def opened(self, device: str | None = None) -> Iterator[ArmReporter]:
        """Load the policy.

        Args:
            device: where it computes; params.yaml's when nothing.

        Yields:
            What writes.
        """
        from radrl.policy.writers.build import open_writer

        own = self._params
        writer = open_writer(
            own.generate.engine,
            self.policy,
            dtype=own.policy.dtype,
            device=device or own.device,
            threads=own.threads,
            compute=own.compute.model_dump(mode="json"),
        )
        with closing(writer):
            yield ArmReporter(writer, own, prompt=self._prompt, form=self._form)

    @property
    def _prompt(self) -> str:
        return str(getattr(self._params.prompts, self._form))


class ArmReporter:
    """See `radrl.rexrank.predictions.Reporter`.

    Args:
        writer: the policy.
        params: params.yaml.
        prompt: the instruction.
        form: of the output, one of `radrl.reports.output.FORMS`.
    """

    def __init__(self, writer: Writer, params: Params, *, prompt: str, form: str) -> None:
        self._writer, self._prompt, self._form = writer, prompt, form
        self._size, self._fit = params.ingest.image_size, params.ingest.image_fit
        settings: Mapping[str, Any] = params.generate.model_dump(mode="json")
        self._how = {name: settings[name] for name in ("max_new_tokens", "temperature", "top_p")}
        self._seed = params.seed

    def picture(self, film: Path) -> bytes:
        """See `radrl.rexrank.predictions.Reporter`: as ingest brings films into the corpus."""
        return images.encode_png(images.fit(images.decode(film), size=self._size, how=self._fit))

    def write(self, pictures: Sequence[tuple[bytes, ...]], first: int) -> list[str]:
        """See `radrl.rexrank.predictions.Reporter`: as generate lets the policy write."""
        drawn = self._writer.write(pictures, self._prompt, **self._how, seed=self._seed, first=first)
        return [report_of(output.text, self._form) for (output,) in drawn]


def policy_of(name: str, root: Path) -> Path:
    """Where the stage train puts an arm's policy.

    Args:
        name: of the arm.
        root: the project.
    """
    filepath = str(yaml_files.read(root / CATALOG)["{arm}.policy"]["filepath"])
    data = str(yaml_files.read(root / GLOBALS)["data"])
    return root / filepath.replace("${globals:data}", data).replace("{arm}", name)

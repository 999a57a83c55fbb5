"""What several packages' tests share: no network, one thread, and a policy of some thousand weights."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browser
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from filelock import FileLock
from hypothesis import settings
from PIL import Image
from projects import copy, kedro_run

from radrl.process import importing

importing.go_offline()  # before any test file imports a library that reads the switches
os.environ.setdefault("MLFLOW_TRACKING_URI", "off")
settings.register_profile("any machine", deadline=None)  # an example on a busy one takes what it takes
settings.load_profile("any machine")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process a core; torch reads it when it is imported

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from radrl.policy.folder import Policy

ROOT = Path(__file__).parents[1]
IMAGE_SIZE = 56  # 4 x 4 patches, 2 x 2 image tokens
SHAPE = {
    "hidden": 32,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "feed_forward": 48,
    "vision_hidden": 32,
    "vision_layers": 2,
    "vision_heads": 2,
    "vision_feed_forward": 48,
    "patch_size": 14,
    "merge_size": 2,
}
REPORTS = (
    "There is a small left pleural effusion.",
    "The heart is enlarged. There is pulmonary edema.",
    "The lungs are clear. No pneumothorax.",
    "Patchy opacity at the right base may be pneumonia.",
    "Right basilar atelectasis.",
    "A pacemaker is in place. The lungs are clear.",
)
PROMPT = "Write the findings."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The smoke run comes first: last, the other worker would have nothing left to do beside it."""
    items.sort(key=lambda item: "smoke" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real browser without a window; `browser.visit` opens a page in it."""
    with browser.started() as one:
        yield one


@pytest.fixture(scope="session")
def one_thread() -> None:
    """Tests share the machine; the same thread count also makes the same sums."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A folder that is made once, by the worker that asks for it first. Nobody writes into it later."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # pytest-xdist: a folder a worker

    def get(name: str, make: Callable[[Path], object]) -> Path:
        folder = session / name
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                unfinished = tmp_path_factory.mktemp(name)
                make(unfinished)
                unfinished.rename(folder)
        return folder

    return get


@pytest.fixture(scope="session")
def smoke(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The data that `kedro run --env=smoke` leaves; `.ci/run` names those of its own run."""
    if done := os.environ.get("RADRL_SMOKE"):
        return ROOT / done
    return once("smoke", lambda folder: kedro_run(copy(folder), "--env=smoke")) / "data/smoke"


@pytest.fixture(scope="session")
def prompt() -> str:
    return PROMPT


@pytest.fixture(scope="session")
def texts() -> Callable[[int], list[str]]:
    """N made-up reports."""
    return lambda count: [REPORTS[i % len(REPORTS)] for i in range(count)]


@pytest.fixture(scope="session")
def films() -> Callable[..., list[bytes]]:
    """N films of noise as PNG bytes, as the corpus keeps them."""

    def draw(count: int, *, seed: int = 0, size: int = IMAGE_SIZE) -> list[bytes]:
        rng = np.random.default_rng(seed)
        drawn = []
        for _ in range(count):
            buffer = io.BytesIO()
            Image.fromarray(rng.integers(0, 256, (size, size), dtype=np.uint8)).save(buffer, format="PNG")
            drawn.append(buffer.getvalue())
        return drawn

    return draw


@pytest.fixture(scope="session")
def make_corpus(
    films: Callable[..., list[bytes]], texts: Callable[[int], list[str]]
) -> Callable[..., ds.Dataset]:
    """A corpus in memory: `studies` films a split, with an impression but for every third film.

    Labelers read the targets unless `label_text` is given.
    """
    from radrl.data.admission import CONTEXT, corpus_schema, row_digest

    def make(
        splits: Sequence[str] = ("pretrain", "train", "test"), studies: int = 4, **columns: Any
    ) -> ds.Dataset:
        rows: list[dict[str, Any]] = []
        for number, split in enumerate(splits):
            pictures = films(studies, seed=number)
            for i, report in enumerate(texts(studies)):
                study = f"{split}{i}"
                rows.append(
                    {
                        "sample_id": f"{study}_1",
                        "study_id": study,
                        "patient_id": f"p_{study}",
                        "split": split,
                        "views": ["frontal"],
                        "images": [pictures[i]],
                        "findings": report,
                        "impression": None if i % 3 == 2 else report.split(".")[0],
                        "report": report,
                        "gold": None,
                        "source_keys": [study],
                    }
                )
        for name, values in columns.items():
            for row, value in zip(rows, values, strict=True):
                row[name] = value
        for row in rows:
            row.setdefault("label_text", row["report"])
            row["digest"] = row_digest(row)
        context = [name for name, field in CONTEXT.items() if field.name in columns]
        return ds.dataset(pa.Table.from_pylist(rows, schema=corpus_schema(context)))

    return make


@pytest.fixture(scope="session")
def shape() -> dict[str, int]:
    """The tests' policy in the keys of `policy.tiny`."""
    return {"vocab_size": 320, **SHAPE}


@pytest.fixture
def small(root: Path, shape: dict[str, int]) -> dict[str, Any]:
    """params.yaml, with the tests' policy and seconds of work."""
    import yaml

    values: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    brief = {"epochs": 2, "batch_size": 4, "max_tokens": 16, "checkpoint_every": 2}
    values["prompts"] = {"plain": PROMPT, "think_report": "Think, then report."}
    values["ingest"] |= {"image_size": IMAGE_SIZE}
    values["policy"] |= {"path": None, "tiny": shape}
    values["policy"]["vision"] |= {"epochs": 1, "batch_size": 4}
    values["policy"]["pretrain"] |= brief
    values["sft"] |= brief
    values["rollouts"] |= {"samples": 2, "films_per_shard": 3, "batch_size": 2, "max_new_tokens": 4}
    steps = {"steps": 4, "prompts_per_step": 2, "rollouts": 2, "max_new_tokens": 4, "checkpoint_every": 2}
    values["training"] |= steps | {"rollouts_at_once": 20, "iterations": 1}
    values["generate"] |= {"max_new_tokens": 4, "batch_size": 3}
    return values


@pytest.fixture(scope="session")
def policy_folder(one_thread: None, shape: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained policy on disk. Nobody writes into it."""
    from radrl.policy import folder, tiny

    target = tmp_path_factory.mktemp("policy")
    tokenizer = tiny.train_tokenizer([PROMPT, *REPORTS], shape["vocab_size"])
    folder.save(tiny.build(tokenizer, image_size=IMAGE_SIZE, shape=shape, seed=0), target)
    return target


@pytest.fixture(scope="session", params=["qwen2_5_vl", "qwen3_vl", "gemma3"])
def family_folder(
    one_thread: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An untrained policy of each family on disk, as its owners publish it. Nobody writes into it."""
    from small_families import FAMILIES

    target = tmp_path_factory.mktemp(request.param)
    FAMILIES[request.param](target, [PROMPT, *REPORTS])
    return target


@pytest.fixture
def policy(policy_folder: Path) -> Policy:
    """The untrained policy, the test's own to train."""
    from radrl.policy import folder

    return folder.load(policy_folder)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instructions that processors of policies render, in order."""
    from transformers.processing_utils import ProcessorMixin

    seen: list[str] = []
    original = ProcessorMixin.apply_chat_template

    def noting(self: Any, conversation: Any, *args: Any, **kwargs: Any) -> Any:
        several = isinstance(conversation[0], list)
        for messages in conversation if several else [conversation]:
            seen.extend(part["text"] for part in messages[-1]["content"] if part["type"] == "text")
        return original(self, conversation, *args, **kwargs)

    monkeypatch.setattr(ProcessorMixin, "apply_chat_template", noting)
    return seen


@pytest.fixture(scope="session")
def weights() -> Callable[[Any], dict[str, Any]]:
    """A copy of all weights of a policy or a policy folder, by name."""

    def copy(of: Any) -> dict[str, Any]:
        from radrl.policy import folder

        model = folder.load(of).model if isinstance(of, Path) else of.model
        return {name: weight.detach().clone() for name, weight in model.state_dict().items()}

    return copy


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], dict[str, bytes]]:
    """The bytes of a folder's files, by path."""
    return lambda folder: {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture(scope="session")
def same() -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Whether two copies of weights have the same names and bits."""

    def compare(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return one.keys() == other.keys() and all(bool((one[name] == other[name]).all()) for name in one)

    return compare


@pytest.fixture
def passes(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[tuple[int, ...]]]:
    """What goes through the policy from now on: patches a look of the tower, (rows, tokens) a read."""
    seen: list[int] = []
    read: list[tuple[int, ...]] = []
    visual, text = policy.model.model.visual, policy.model.model.language_model
    look, think = visual.forward, text.forward

    def looking(pixels: Any, **kwargs: Any) -> Any:
        seen.append(len(pixels))
        return look(pixels, **kwargs)

    def thinking(**kwargs: Any) -> Any:
        read.append(tuple(kwargs["inputs_embeds"].shape[:2]))
        return think(**kwargs)

    monkeypatch.setattr(visual, "forward", looking)
    monkeypatch.setattr(text, "forward", thinking)
    return seen, read

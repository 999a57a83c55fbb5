"""Engines by name, and what is known of a policy without its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from radrl.policy import folder
from radrl.policy.engines import open_writer
from radrl.policy.folder import Policy
from radrl.policy.hf_writer import HfWriter, write


def test_hf_writes_as_generation_does(policy_folder: Path, films: Any, prompt: str) -> None:
    from radrl.policy.encoding import decode_film

    writer = open_writer("hf", policy_folder, dtype="float32", device="cpu", threads=1)
    assert isinstance(writer, HfWriter)
    assert writer.device == "cpu, 1 threads"
    how = {"max_new_tokens": 5, "samples": 2, "temperature": 1.0, "top_p": 0.9, "seed": 3, "first": 4}
    shown = films(2)
    expected = write(writer.policy, [[decode_film(film)] for film in shown], prompt, **how)
    assert writer.write([(film,) for film in shown], prompt, **how) == expected
    writer.close()


def test_an_engine_that_is_none_is_named_with_those_that_are(policy_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no engine 'tgi' writes reports; set one of hf, vllm"):
        open_writer("tgi", policy_folder, dtype="float32", device="cpu", threads=1)


def test_an_outline_says_what_the_whole_policy_says(family_folder: Path, prompt: str) -> None:
    whole, outline = folder.load(family_folder), folder.outline(family_folder)
    assert {weight.device.type for weight in outline.model.parameters()} == {"meta"}
    assert folder.ends(outline) == folder.ends(whole)
    settings = [own.model.generation_config.suppress_tokens for own in (outline, whole)]
    assert settings[0] == settings[1]
    asked = [
        own.processor.apply_chat_template(
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}],
            add_generation_prompt=True,
            tokenize=False,
        )
        for own in (outline, whole)
    ]
    assert asked[0] == asked[1]


def test_an_outline_is_refused_where_the_policy_is(family_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no policy at"):
        folder.outline(tmp_path / "gone")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_marks_of_films_are_never_written(
    family_folder: Path, films: Any, prompt: str, marks_first: Any, temperature: float
) -> None:
    policy = folder.load(family_folder)
    marks = marks_first(policy)
    written = spy(policy)

    def tokens() -> set[int]:
        shown = [(film,) for film in films(2)]
        HfWriter(policy).write(shown, prompt, max_new_tokens=8, samples=4, temperature=temperature)
        return set(written[-1].flatten().tolist())

    assert not marks & tokens()
    policy.model.generation_config.suppress_tokens = None
    assert marks & tokens()  # or the above would show nothing


def spy(policy: Policy) -> list[torch.Tensor]:
    """The tokens that a policy's processor is given to read."""
    seen: list[torch.Tensor] = []
    plain = policy.processor.batch_decode

    def note(ids: torch.Tensor, **settings: Any) -> Any:
        seen.append(ids)
        return plain(ids, **settings)

    policy.processor.batch_decode = note
    return seen

"""Every family loads, is asked and writes; what one cannot do is refused by name."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from trl.data_utils import prepare_multimodal_messages

from radrl.policy import decoding, families, folder, gemma, qwen
from radrl.policy.encoding import decode_film, encode_examples, encode_prompts, merged_tokens
from radrl.policy.folder import Policy
from radrl.policy.hf_writer import write
from radrl.policy.shared_prefill import sharing, write_on
from radrl.policy.spans import ByteLevelSpans

GREEDY = {"do_sample": False, "max_new_tokens": 8}
SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 0.9, "max_new_tokens": 8}


@pytest.fixture
def own(family_folder: Path) -> Policy:
    """A family's policy, the test's own."""
    return folder.load(family_folder)


@pytest.fixture
def studies(films: Callable[..., list[bytes]]) -> list[list[Image.Image]]:
    """A film, two films, a larger film."""
    a, b, c = (decode_film(film) for film in films(3))
    return [[a], [b, c], [decode_film(films(1, size=84)[0])]]


@pytest.fixture
def asked(own: Policy, studies: list[list[Image.Image]], prompt: str) -> dict[str, torch.Tensor]:
    return dict(encode_prompts(own.processor, studies, [prompt, prompt, f"{prompt} Be brief."]))


@pytest.fixture
def copy(family_folder: Path, tmp_path: Path) -> Path:
    """A folder that the test may spoil."""
    return Path(shutil.copytree(family_folder, tmp_path / "policy"))


def rewrite(file: Path, **keys: Any) -> None:
    """Some keys of a JSON file."""
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | keys))


def rows(policy: Policy, asked: dict[str, torch.Tensor], wanted: list[int]) -> dict[str, torch.Tensor]:
    """Some of the prompts, as often as wanted."""
    films = families.family_of_model(policy.model).by_row(asked, policy.model.config)
    found = {name: value[wanted] for name, value in asked.items() if name not in films}
    return found | {name: torch.cat([value[i] for i in wanted]) for name, value in films.items()}


def test_what_is_saved_loads_as_it_was(
    own: Policy, asked: dict[str, torch.Tensor], studies: Any, prompt: str, tmp_path: Path
) -> None:
    folder.save(own, tmp_path)
    again = folder.load(tmp_path)
    assert type(again.model) is type(own.model)
    before, after = own.model.state_dict(), again.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    encoded = encode_prompts(again.processor, studies, [prompt, prompt, f"{prompt} Be brief."])
    assert encoded.keys() == asked.keys()
    assert all(torch.equal(encoded[name], asked[name]) for name in asked)
    assert torch.equal(again.model(**asked).logits, own.model(**asked).logits)
    for settings in ("eos_token_id", "suppress_tokens"):
        kept = (getattr(policy.model.generation_config, settings) for policy in (own, again))
        assert len(set(map(str, kept))) == 1


def test_every_published_weight_is_read(own: Policy, family_folder: Path) -> None:
    published = load_file(family_folder / "model.safetensors")
    tied = "lm_head.weight" not in published
    held = [
        weight for name, weight in own.model.state_dict().items() if not (tied and name == "lm_head.weight")
    ]
    numbers = [sorted(float(weight.double().sum()) for weight in own) for own in (published.values(), held)]
    assert numbers[0] == numbers[1]


def test_layers_are_known_by_the_name_of_their_class(own: Policy) -> None:
    layer = families.family_of_model(own.model).layer
    assert layer in own.model._no_split_modules  # transformers' own list
    named = [path for path, module in own.model.named_modules() if type(module).__name__ == layer]
    assert named == [f"model.language_model.layers.{i}" for i in range(2)]


def test_what_is_written_depends_on_the_film(own: Policy, asked: dict[str, torch.Tensor]) -> None:
    dark = asked | {"pixel_values": torch.zeros_like(asked["pixel_values"])}
    assert not torch.allclose(own.model(**dark).logits[:, -1], own.model(**asked).logits[:, -1])


def test_prompts_are_those_that_trl_asks_with(
    own: Policy, asked: dict[str, torch.Tensor], studies: list[list[Image.Image]], prompt: str
) -> None:
    words = [prompt, prompt, f"{prompt} Be brief."]
    turns = [
        prepare_multimodal_messages([{"role": "user", "content": said}], films)
        for said, films in zip(words, studies, strict=True)
    ]
    trls = own.processor.apply_chat_template(
        turns, add_generation_prompt=True, tokenize=True, return_dict=True
    )
    present = asked["attention_mask"].bool()
    assert [row[mask].tolist() for row, mask in zip(asked["input_ids"], present, strict=True)] == [
        list(ids) for ids in trls["input_ids"]
    ]
    assert torch.equal(torch.tensor(np.array(trls["pixel_values"])), asked["pixel_values"])


def test_a_report_ends_by_the_turn_and_begins_by_nothing(
    own: Policy, studies: list[list[Image.Image]], prompt: str
) -> None:
    report = "The lungs are clear."
    batch = encode_examples(own.processor, studies[:1], [report], [prompt], 64)
    kinds = batch[families.kinds(batch)]
    written = batch["labels"][0] != -100
    *said, end = batch["labels"][0][written].tolist()
    tokenizer = own.processor.tokenizer
    assert tokenizer.decode(said) == report
    assert tokenizer.decode([end]) == (
        gemma.TURN_END if gemma.TURN_END in tokenizer.get_vocab() else "<|im_end|>"
    )
    ends = own.model.generation_config.eos_token_id
    assert end in (ends if isinstance(ends, list) else [ends])
    assert int((kinds == 1).sum()) == 4
    assert not kinds[0][written].any()
    assert own.model(**batch).loss.isfinite()


def test_equal_films_are_looked_at_once_and_come_out_as_often(
    own: Policy, studies: list[list[Image.Image]], prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [studies[0], studies[0], studies[1], studies[0]]
    once = encode_prompts(own.processor, many, [prompt] * 4)
    seen: list[int] = []
    look = type(own.processor.image_processor).preprocess

    def looking(self: Any, images: Any, **settings: Any) -> Any:
        seen.append(len(images))
        return look(self, images, **settings)

    monkeypatch.setattr(type(own.processor.image_processor), "preprocess", looking)
    assert encode_prompts(own.processor, many, [prompt] * 4).keys() == once.keys()
    assert seen == [3]
    for module in (qwen, gemma):
        monkeypatch.setattr(module, "distinct", lambda films: (list(films), list(range(len(films)))))
    each = encode_prompts(own.processor, many, [prompt] * 4)
    assert all(torch.equal(once[name], each[name]) for name in each)


def test_pictures_are_saved_under_the_name_that_others_know(tmp_path: Path) -> None:
    gemma.GemmaFilms().save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "preprocessor_config.json").read_text())
    assert saved["image_processor_type"] == "Gemma3ImageProcessor"


def test_the_likeliest_tokens_are_those_of_transformers_generate(
    own: Policy, asked: dict[str, torch.Tensor]
) -> None:
    plain = own.model.generate(**asked, **GREEDY)
    with sharing(own.model):
        assert own.model.generate(**asked, **GREEDY).tolist() == plain.tolist()
        assert own.model.generate(**asked, **GREEDY).tolist() == plain.tolist()


@pytest.mark.parametrize("wanted", [[0, 0, 0, 1, 1, 2], [2, 0, 2], [1, 1]])
def test_equal_seeds_give_equal_samples_shared_or_not(
    own: Policy, asked: dict[str, torch.Tensor], wanted: list[int]
) -> None:
    inputs = rows(own, asked, wanted)
    torch.manual_seed(5)
    plain = write_on(own.model, inputs, torch.arange(len(wanted)), **SAMPLED)
    torch.manual_seed(5)
    with sharing(own.model):
        shared = own.model.generate(**inputs, **SAMPLED)
    assert shared.tolist() == plain.tolist()
    assert len(set(map(tuple, shared.tolist()))) == len(wanted)


def test_each_film_is_encoded_once_for_all_its_rollouts(
    own: Policy, asked: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    look = own.model.model.get_image_features

    def looking(pixels: torch.Tensor, *args: Any, **settings: Any) -> Any:
        seen.append(len(pixels))
        return look(pixels, *args, **settings)

    monkeypatch.setattr(own.model.model, "get_image_features", looking)
    with sharing(own.model):
        own.model.generate(**rows(own, asked, [0, 0, 1, 1, 2, 2]), **GREEDY)
    assert seen == [len(asked["pixel_values"])]


def test_a_sample_is_the_same_in_any_batch(
    own: Policy, studies: list[list[Image.Image]], prompt: str
) -> None:
    how: dict[str, Any] = {"max_new_tokens": 6, "samples": 2, "temperature": 1.0, "top_p": 0.9, "seed": 3}
    together = write(own, studies, prompt, **how)
    alone = [write(own, [films], prompt, first=place, **how)[0] for place, films in enumerate(studies)]
    assert together == alone


def test_the_places_of_tokens_in_a_report_are_known(own: Policy, asked: dict[str, torch.Tensor]) -> None:
    written = write_on(own.model, asked, torch.tensor([0, 0, 1, 2]), **SAMPLED)[:, -8:]
    spans = ByteLevelSpans(own.processor.tokenizer)
    for ids in written.tolist():
        assert spans.locate(ids).text == own.processor.tokenizer.decode(ids, skip_special_tokens=True)


def test_what_the_tower_makes_of_films_of_any_size(own: Policy, films: Callable[..., list[bytes]]) -> None:
    tokens = merged_tokens(own, [*films(2), *films(1, size=84)])
    assert [tuple(token.shape) for token in tokens] == [(4, 32)] * 3
    alone = merged_tokens(own, films(1))[0]
    torch.testing.assert_close(tokens[0], alone, rtol=0, atol=1e-5)


def test_chunks_of_the_tower_attend_together_where_it_has_chunks(
    own: Policy, asked: dict[str, torch.Tensor]
) -> None:
    if (family := families.family_of_model(own.model)).model_type == "gemma3":
        family.ready(own.model)  # leaves its tower alone: films are a batch as they are
        assert own.model.model.vision_tower.config._attn_implementation == "sdpa"
        return
    tower = own.model.model.visual.config
    assert tower._attn_implementation == qwen.CHUNKS
    together = own.model(**asked).logits
    tower._attn_implementation = "sdpa"
    torch.testing.assert_close(own.model(**asked).logits, together, rtol=0, atol=1e-5)


@pytest.fixture
def windowed(family_folder: Path) -> Policy:
    """A policy whose windows are shorter than what it is asked for."""
    own = folder.load(family_folder)
    if families.family_of_model(own.model).model_type != "gemma3":
        pytest.skip("its layers have no windows, or the policy is refused")
    decoding._say_apart.cache_clear()
    own.model.model.language_model.config.sliding_window = 24
    for layer in own.model.model.language_model.layers:
        layer.self_attn.sliding_window = 24 if layer.self_attn.is_sliding else None
    return own


@pytest.mark.parametrize("wanted", [[0, 1, 2], [0, 0, 0, 1, 2, 2]])
def test_a_window_that_is_left_has_each_rollout_read_its_own_prompt(
    windowed: Policy, studies: Any, prompt: str, wanted: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    asked = dict(encode_prompts(windowed.processor, studies, [prompt, prompt, f"{prompt} Be brief."]))
    inputs = rows(windowed, asked, wanted)
    plain = windowed.model.generate(**inputs, **GREEDY)
    with caplog.at_level(logging.WARNING, logger=decoding.__name__), sharing(windowed.model):
        assert windowed.model.generate(**inputs, **GREEDY).tolist() == plain.tolist()
        windowed.model.generate(**inputs, **GREEDY)
    (said,) = caplog.messages
    assert "read once for each rollout, not once for each group: prompt and report may have" in said
    assert "most layers see 24 alone" in said


def test_rows_that_read_their_own_prompts_leave_when_they_have_ended(
    windowed: Policy, studies: Any, prompt: str
) -> None:
    head = windowed.model.lm_head
    head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
    with torch.no_grad():
        head.bias[windowed.processor.tokenizer.eos_token_id] = 4.5
    how: dict[str, Any] = {"max_new_tokens": 12, "samples": 3, "temperature": 1.0, "seed": 3}
    together = write(windowed, studies, prompt, **how)
    lengths = {report.tokens for own in together for report in own}
    assert len(lengths) > 3
    alone = [write(windowed, [own], prompt, first=place, **how)[0] for place, own in enumerate(studies)]
    assert together == alone


@pytest.mark.parametrize("kind", ["gemma3_text", "qwen3_vl_moe", "qwen2_vl", "llava", None])
def test_another_model_is_refused_with_those_that_are_known(copy: Path, kind: str | None) -> None:
    rewrite(copy / "config.json", model_type=kind)
    known = r"radrl trains 'qwen2_5_vl' \(Qwen2.5-VL\), 'qwen3_vl' \(Qwen3-VL\), 'gemma3' \(Gemma 3\)"
    with pytest.raises(ValueError, match=f"model_type {kind!r}; {known}"):
        folder.load(copy)


def test_a_part_that_is_missing_is_named_with_the_family(copy: Path) -> None:
    (copy / "preprocessor_config.json").unlink()
    name = families.family_of_folder(copy).name
    with pytest.raises(FileNotFoundError, match=f"no complete {name} folder: preprocessor_config.json"):
        folder.load(copy)


def test_weights_that_can_run_code_are_not_read(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"no \*\.safetensors"):
        folder.load(copy)


def test_a_precision_that_a_family_does_not_compute_in_is_refused(family_folder: Path) -> None:
    if families.family_of_folder(family_folder).model_type == "gemma3":
        with pytest.raises(ValueError, match=r"policy.dtype is float16; Gemma 3 has activations .* bfloat16"):
            folder.load(family_folder, dtype="float16")
        return
    assert folder.load(family_folder, dtype="float16").model.dtype == torch.float16


@pytest.fixture
def templated(copy: Path) -> Callable[[str | None], Path]:
    """The folder with another chat template, or none."""

    def write_template(template: str | None) -> Path:
        (copy / "chat_template.jinja").unlink(missing_ok=True)
        rewrite(copy / "tokenizer_config.json", chat_template=template)
        return copy

    if families.family_of_folder(copy) is families.FIRST:
        pytest.skip("as it always was: transformers says so when it is first asked")
    return write_template


def test_a_folder_without_a_chat_template_is_refused(templated: Callable[[str | None], Path]) -> None:
    with pytest.raises(ValueError, match=r"has no chat template, .* \(-Instruct, -it\)"):
        folder.load(templated(None))


def test_a_model_whose_turns_begin_with_reasoning_is_refused(templated: Callable[[str | None], Path]) -> None:
    thinking = (
        "{% for message in messages %}{{ message['role'] }}{% endfor %}<|im_start|>assistant\n<think>\n"
    )
    with pytest.raises(ValueError, match=r"turns begin with <think>: .* take the -Instruct weights"):
        folder.load(templated(thinking))


@pytest.fixture
def gemmas(copy: Path) -> Path:
    if families.family_of_folder(copy).model_type != "gemma3":
        pytest.skip("of Gemma 3 alone")
    return copy


def test_pan_and_scan_is_refused(gemmas: Path) -> None:
    rewrite(gemmas / "preprocessor_config.json", do_pan_and_scan=True)
    with pytest.raises(ValueError, match=r"preprocessor_config.json asks for pan and scan, .* to false"):
        folder.load(gemmas)


def test_pictures_of_another_size_are_refused(gemmas: Path) -> None:
    rewrite(gemmas / "preprocessor_config.json", size={"height": 28, "width": 28})
    with pytest.raises(ValueError, match=r"pictures of 28 x 28 pixels, .* takes 56 x 56"):
        folder.load(gemmas)


def test_a_tokenizer_that_knows_no_films_is_refused(gemmas: Path) -> None:
    rewrite(gemmas / "tokenizer_config.json", boi_token=None, extra_special_tokens={})
    with pytest.raises(ValueError, match="names no boi_token: this is no tokenizer of a Gemma 3"):
        folder.load(gemmas)


def test_a_tokenizer_that_knows_no_turns_is_refused(gemmas: Path) -> None:
    whole = (gemmas / "tokenizer.json").read_text()
    (gemmas / "tokenizer.json").write_text(whole.replace(gemma.TURN_END, "<end_of_tern>"))
    with pytest.raises(ValueError, match="does not know <end_of_turn>"):
        folder.load(gemmas)

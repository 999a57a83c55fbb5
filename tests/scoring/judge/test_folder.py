from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from damaged_weights import DAMAGES, damage, tensor
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from radrl.evaluation.green import CHAT_TEMPLATE
from radrl.parts.find import PartError
from radrl.scoring import ScoringError
from radrl.scoring.judge import Answer, build_judge
from radrl.scoring.judge.folder import FolderJudge

WORDS = (
    "<unk>",
    "<s>",
    "</s>",
    "<|user|>",
    "<|assistant|>",
    "heart",
    "lungs",
    "clear",
    "normal",
    "no",
    "edema",
)
TEMPLATE = "{% for m in messages %}<|user|> {{ m['content'] }} </s>{% endfor %}<|assistant|>"
PROMPTS = [
    "heart",
    "lungs clear no edema",
    "no",
    "heart normal lungs clear heart normal lungs clear",
    "no edema",
]
WINDOW = 64

pytestmark = pytest.mark.usefixtures("one_thread")


def save(folder: Path, *, chat_template: str | None = TEMPLATE) -> LlamaForCausalLM:
    """A random Llama and a tokenizer of whole words, as their owners would publish them."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        chat_template=chat_template,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=WINDOW,
        bos_token_id=1, eos_token_id=2, initializer_range=0.5, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    # as many a published folder: settings that would change the answers
    model.generation_config.update(do_sample=True, temperature=2.0, top_p=0.9, repetition_penalty=5.0)
    model.save_pretrained(folder)
    return model


def chain(folder: Path, *words: str) -> None:
    """Make the model say `words` after <|assistant|>: each word's own embedding, and what follows it."""
    model = LlamaForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        for parameter in model.model.layers.parameters():
            parameter.zero_()  # the residual stream is the last token's embedding
        model.model.embed_tokens.weight.copy_(torch.eye(len(WORDS), 16))
        model.lm_head.weight.zero_()
        for word, following in zip(("<|assistant|>", *words), words, strict=False):
            model.lm_head.weight[WORDS.index(following), WORDS.index(word)] = 1.0
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("judge") / "tiny-llama"
    save(target)
    return target


def judge(folder: Path, **changes) -> FolderJudge:
    return FolderJudge(folder, **{"batch_size": 2, "max_new_tokens": 8} | changes)


def test_an_answer_ends_with_the_end_of_sequence(tmp_path):
    save(tmp_path)
    chain(tmp_path, "heart", "normal", "</s>")
    assert judge(tmp_path).answer(["lungs", "no edema", "lungs"]) == [Answer("heart normal")] * 3


def test_an_answer_without_end_is_cut_off_and_a_failure(tmp_path):
    save(tmp_path)
    chain(tmp_path, "heart", "normal", "</s>")
    cut_off = Answer("heart normal", "the answer is cut off after 2 tokens (max_new_tokens)")
    assert judge(tmp_path, max_new_tokens=2).answer(["lungs"]) == [cut_off]


def test_answers_are_those_of_greedy_search_one_by_one(folder):
    """No padding, no cache of keys, no library's search: the argmax of the last token, again and again."""
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    found = judge(folder).answer(PROMPTS)
    assert len({answer.text for answer in found}) > 1
    for prompt, answer in zip(PROMPTS, found, strict=True):
        ids = [WORDS.index(word) for word in f"<|user|> {prompt} </s> <|assistant|>".split()]
        written: list[int] = []
        while len(written) < 8 and 2 not in written:
            written.append(int(model(torch.tensor([ids + written])).logits[0, -1].argmax()))
        assert answer.finished == (2 in written)
        assert answer.text == " ".join(WORDS[i] for i in written if i > 2)


@pytest.mark.parametrize("batch_size", [1, 3, 5])
def test_the_batch_changes_no_answer(folder, batch_size):
    assert judge(folder, batch_size=batch_size).answer(PROMPTS) == judge(folder).answer(PROMPTS)
    assert judge(folder, batch_size=batch_size).answer(PROMPTS[::-1]) == judge(folder).answer(PROMPTS)[::-1]


def test_greens_chat_is_that_of_its_package(folder, monkeypatch):
    asked = build_judge(
        {"backend": "folder", "folder": str(folder), "batch_size": 1, "max_new_tokens": 8, "chat": "green"}
    )
    seen = []
    monkeypatch.setattr(asked, "_generate", lambda batch: seen.extend(batch) or [Answer("")])
    asked.answer(["heart no\n"])
    # apply_chat_template of the package's template on a prompt and an empty answer, with its add_eos_token
    chat = "<|user|>\nheart no\n</s>\n<|assistant|>\n</s>\n<|assistant|>\n</s>"
    assert asked._chat("heart no\n") == chat
    assert [WORDS[i] for i in seen[0]] == ["<s>", *chat.split()]
    assert CHAT_TEMPLATE


def test_a_prompt_that_leaves_no_room_for_the_answer_is_a_failure(folder):
    long, short = judge(folder, max_new_tokens=8).answer(["heart " * WINDOW, "heart"])
    assert long == Answer("", "67 tokens of prompt and 8 of answer do not fit the model's window of 64")
    assert short.text


def test_the_cache_spares_the_model(tmp_path, monkeypatch):
    save(tmp_path / "model")
    chain(tmp_path / "model", "heart", "</s>")
    first = judge(tmp_path / "model", cache=tmp_path / "a")
    assert first.answer(["lungs"]) == [Answer("heart")]
    again = judge(tmp_path / "model", cache=tmp_path / "a")
    monkeypatch.setattr(again, "_ask", None)
    assert again.answer(["lungs"]) == [Answer("heart")]
    # other weights, settings or chat are another judge
    assert judge(tmp_path / "model", cache=tmp_path / "a", max_new_tokens=9)._key("x") != first._key("x")
    assert judge(tmp_path / "model", chat_template=CHAT_TEMPLATE)._key("x") != first._key("x")
    chain(tmp_path / "model", "normal", "</s>")
    assert judge(tmp_path / "model", cache=tmp_path / "a").answer(["lungs"]) == [Answer("normal")]


def test_an_answer_its_asker_cannot_use_is_a_failure_and_not_kept(tmp_path):
    save(tmp_path / "model")
    chain(tmp_path / "model", "heart", "</s>")
    asked = judge(tmp_path / "model", cache=tmp_path / "a")
    assert asked.answer(["lungs"], check=lambda prompt, text: f"{text}, not {prompt}") == [
        Answer("heart", "heart, not lungs")
    ]
    assert asked._cache.get(asked._key("lungs")) is None
    assert asked.answer(["lungs"], check=lambda *_: None) == [Answer("heart")]
    assert asked._cache.get(asked._key("lungs")) == "heart"


def test_the_record_names_the_model_by_its_files(folder):
    about = judge(folder).about
    assert about["model"] == "tiny-llama"
    assert len(about["files_sha256"]) == 64


def test_folders_that_are_no_model_are_named(tmp_path, folder):
    with pytest.raises(ScoringError, match=r"config\.json is missing"):
        judge(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ScoringError, match=r"no \*\.safetensors: other weight files can run code"):
        judge(tmp_path)
    with pytest.raises(ScoringError, match="valid: float32, bfloat16, float16"):
        judge(folder, dtype="int4")


def test_a_model_without_chat_template_needs_one(tmp_path):
    save(tmp_path, chat_template=None)
    with pytest.raises(ScoringError, match="give one as chat_template"):
        judge(tmp_path).answer(["heart"])
    assert len(judge(tmp_path, chat_template=TEMPLATE).answer(["heart"])) == 1


def test_code_in_the_folder_does_not_run(tmp_path):
    save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    judge(tmp_path).answer(["heart"])
    assert not (tmp_path / "ran").exists()


def test_unknown_backends_and_chats_are_named(folder):
    with pytest.raises(PartError, match=r"judge\.backend: no judge 'openai'\. There are endpoint, folder"):
        build_judge({"backend": "openai"})
    with pytest.raises(ScoringError, match="unknown chat 'llama'; valid: own, green"):
        build_judge({"backend": "folder", "folder": folder, "chat": "llama"})


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_judge_that_is_not_all_there_is_refused(tmp_path, kind):
    save(tmp_path)
    damage(*tensor(tmp_path, "layers.1.mlp.down_proj.weight"), kind)
    said = DAMAGES[kind][1].format("model.layers.1.mlp.down_proj.weight")
    with pytest.raises(ScoringError, match=rf"model\.safetensors {said}"):
        judge(tmp_path).answer(["heart"])

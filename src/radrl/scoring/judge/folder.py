"""The judge `folder`, a model in a local Hugging Face folder, such as GREEN-radllama2-7b's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from radrl.evaluation.green import CHAT_TEMPLATE
from radrl.parts.section import takes
from radrl.process.devices import place
from radrl.scoring import ScoringError
from radrl.scoring.judge import (
    Answer,
    AnswerCache,
    Check,
    FolderSection,
    Judge,
    Keep,
    answer_through_cache,
    cache_key,
)
from radrl.storage.digests import sha256

CHATS: Final[dict[str, dict[str, Any]]] = {
    "own": {"chat_template": None, "add_bos": False},
    "green": {"chat_template": CHAT_TEMPLATE, "add_bos": True},
}
"""How a local model is addressed: as its tokenizer says, or as GREEN's package addresses GREEN's model."""

DTYPES: Final = ("float32", "bfloat16", "float16")


@takes(FolderSection)
def folder(
    *, folder: str | Path, chat: str = "own", cache: str | Path | None = None, **settings: Any
) -> Judge:
    """A language model on this machine.

    Args:
        folder: holds the model.
        chat: a key of `CHATS`.
        cache: file of answers.
        **settings: further arguments of `radrl.scoring.judge.folder.FolderJudge`.

    Raises:
        ScoringError: for an unknown `chat`.
    """
    if chat not in CHATS:
        raise ScoringError(f"unknown chat {chat!r}; valid: {', '.join(CHATS)}")
    kept = None if cache is None else Path(cache)
    return FolderJudge(Path(folder), cache=kept, **settings, **CHATS[chat])


class FolderJudge:
    """Greedy answers of a causal language model on this machine.

    Weights are safetensors and no code of the folder runs. They are loaded at the first prompt that is not in
    the cache, which knows the model by a digest of the folder's files.

    Args:
        folder: config.json, ``*.safetensors`` and a tokenizer.
        batch_size: prompts at a time, those of like length together. It changes no answer but where rounding
            decides between two tokens.
        max_new_tokens: an answer may have; one that needs more is cut off, and fails.
        device: where it computes, as `radrl.process.devices.place` takes it.
        dtype: of `DTYPES`. GREEN's authors use float16 on a GPU.
        chat_template: Jinja, in place of the tokenizer's own (`radrl.evaluation.green.CHAT_TEMPLATE`).
        add_bos: whether a beginning of sequence goes before the chat; not for a template that writes one.
        cache: file of `AnswerCache`; nothing to keep no answers.

    Raises:
        ScoringError: when the folder is no such model, `dtype` is unknown or the cache cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        batch_size: int,
        max_new_tokens: int,
        device: str = "cpu",
        dtype: str = "float32",
        chat_template: str | None = None,
        add_bos: bool = False,
        cache: Path | None = None,
    ) -> None:
        _check(folder, dtype)
        self._folder, self._device, self._dtype = folder, device, dtype
        self._batch_size, self._max_new_tokens = batch_size, max_new_tokens
        self._chat_template, self._add_bos = chat_template, add_bos
        self._cache = None if cache is None else AnswerCache(cache)
        self.name = f"folder:{folder.name}"

    @cached_property
    def about(self) -> dict[str, str]:
        """What answers depend on; reads all weights for their digest."""
        return {
            "judge": "folder",
            "model": self._folder.name,
            "files_sha256": sha256(self._folder),
            "dtype": self._dtype,
            "max_new_tokens": str(self._max_new_tokens),
        }

    def answer(self, prompts: Sequence[str], *, check: Check | None = None) -> list[Answer]:
        """See `radrl.scoring.judge.Judge`."""
        return answer_through_cache(
            prompts, key=self._key, cache=self._cache, ask=self._ask, name=self.name, check=check
        )

    def _key(self, prompt: str) -> str:
        return cache_key(self.about | {"chat": self._chat(prompt), "add_bos": self._add_bos})

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        # AutoTokenizer of transformers 5 builds Llama's anew from its parts, and after a special token come
        # other tokens than with version 4; so the file is read as it stands
        given = (self._folder / "tokenizer.json").is_file()
        tokenizer = (PreTrainedTokenizerFast if given else AutoTokenizer).from_pretrained(
            self._folder, local_files_only=True, trust_remote_code=False
        )
        if self._chat_template is None and not tokenizer.chat_template:
            raise ScoringError(f"{self._folder} has no chat template: give one as chat_template")
        if tokenizer.eos_token_id is None or (self._add_bos and tokenizer.bos_token_id is None):
            raise ScoringError(
                f"{self._folder}: the tokenizer lacks eos_token, or bos_token where it is asked for"
            )
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        import torch
        from transformers import AutoModelForCausalLM, GenerationConfig

        from radrl.storage import complete_weights

        try:
            model = complete_weights.load(
                AutoModelForCausalLM,
                self._folder,
                device=place(self._device),
                dtype=getattr(torch, self._dtype),
            )
        except complete_weights.WeightsError as error:
            raise ScoringError(str(error)) from None
        tokenizer, given = self._tokenizer, model.generation_config.eos_token_id
        ends = {tokenizer.eos_token_id} | set(given if isinstance(given, list) else [given]) - {None}
        pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        # anew, because the folder's own may sample or penalise repetitions, which reports are full of
        model.generation_config = GenerationConfig(
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            max_new_tokens=self._max_new_tokens,
            eos_token_id=sorted(ends),
            pad_token_id=pad,
        )
        return model.eval()

    def _chat(self, prompt: str) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}],
                chat_template=self._chat_template,
                add_generation_prompt=True,
                tokenize=False,
            )
        )

    def _ask(self, prompts: Sequence[str], keep: Keep) -> Iterator[tuple[str, Answer]]:
        window = getattr(self._model.config, "max_position_embeddings", None)
        encoded: list[tuple[str, list[int]]] = []
        for prompt in prompts:
            ids = self._tokenizer(self._chat(prompt), add_special_tokens=False).input_ids
            ids = [self._tokenizer.bos_token_id, *ids] if self._add_bos else ids
            if window is not None and len(ids) + self._max_new_tokens > window:
                needed = f"{len(ids)} tokens of prompt and {self._max_new_tokens} of answer"
                yield prompt, Answer("", f"{needed} do not fit the model's window of {window}")
            else:
                encoded.append((prompt, ids))
        encoded.sort(key=lambda pair: -len(pair[1]))  # if memory is short, it shows at once
        for start in range(0, len(encoded), self._batch_size):
            batch = encoded[start : start + self._batch_size]
            answers = self._generate([ids for _, ids in batch])
            for (prompt, _), answer in zip(batch, answers, strict=True):
                yield prompt, keep(prompt, answer)

    def _generate(self, batch: Sequence[list[int]]) -> list[Answer]:
        """Answers to B prompts of token ids, padded on the left so that all end together."""
        import torch

        settings = self._model.generation_config
        longest = max(len(ids) for ids in batch)
        padded = [[settings.pad_token_id] * (longest - len(ids)) + ids for ids in batch]
        mask = [[0] * (longest - len(ids)) + [1] * len(ids) for ids in batch]
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=torch.tensor(padded, device=self._model.device),  # (B, L)
                attention_mask=torch.tensor(mask, device=self._model.device),
            )[:, longest:].tolist()  # (B, at most max_new_tokens)
        return [self._read(ids, settings.eos_token_id) for ids in written]

    def _read(self, ids: list[int], ends: Sequence[int]) -> Answer:
        end = next((i for i, token in enumerate(ids) if token in ends), None)
        text = self._tokenizer.decode(ids[:end], skip_special_tokens=True)
        cut_off = f"the answer is cut off after {self._max_new_tokens} tokens (max_new_tokens)"
        return Answer(text, cut_off if end is None else None)


def _check(folder: Path, dtype: str) -> None:
    if dtype not in DTYPES:
        raise ScoringError(f"unknown dtype {dtype!r}; valid: {', '.join(DTYPES)}")
    if not (folder / "config.json").is_file():
        raise ScoringError(f"no model at {folder}: config.json is missing")
    if not any(folder.glob("*.safetensors")):
        raise ScoringError(
            f"{folder} has no *.safetensors: other weight files can run code and are not loaded; convert them"
        )

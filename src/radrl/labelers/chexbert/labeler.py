"""The labeler that asks a CheXbert: each text once, in batches of like length, remembered across calls.

As stanfordmlgroup/CheXbert's ``label.py``: the class of an observation is the argmax of its head's logits.
Departure: there an empty report goes through the model as [CLS] [SEP]; here a report without a token is blank
throughout, as `radrl.labelers.Labeler` has it.

Sums of floats depend on a batch's shape in their last digits. A label depends on the reports beside it only
where two classes' logits are equal to within some 1e-6; a text's first label is kept while it is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import BertTokenizer

from radrl.labelers import Labeler, LabelerError, LabelMatrix, check_texts
from radrl.labelers.chexbert import folder as on_disk
from radrl.labelers.chexbert.model import MAX_TOKENS, CheXbert, Encoded, by_length, encode, pad
from radrl.observations import BLANK, OBSERVATIONS
from radrl.storage import pointers

CPU_BATCH: Final = 1024
"""Most tokens of a batch, padding included. So many's activations stay in a core's cache: 9 reports/s with
bert-base's sizes, at 8192 tokens 6."""
GPU_BATCH: Final = 8192

_CHUNK: Final = 4096  # texts tokenised at a time: tokens take many times the memory of their text

LabelRow = npt.NDArray[np.int8]
"""Labels of one report, shape (14,)."""


class CheXbertLabeler:
    """Labels reports by a CheXbert, which it takes over: nobody trains the model from then on.

    Args:
        model: on the device where it is to run.
        tokenizer: of `radrl.labelers.chexbert.model.build_tokenizer`.
        name: goes into every metric's name.
        cache_size: texts whose labels are remembered, the least recently asked dropped first; 0 for none.

    Raises:
        ValueError: `cache_size` is negative.
    """

    def __init__(
        self,
        model: CheXbert,
        tokenizer: BertTokenizer,
        *,
        name: str = "chexbert",
        cache_size: int = 32_768,
    ) -> None:
        if cache_size < 0:
            raise ValueError(f"cache_size {cache_size} must not be negative")
        self.name = name
        self.model = model.eval()
        self.tokenizer = tokenizer
        self._batch_tokens = CPU_BATCH if self.device.type == "cpu" else GPU_BATCH
        self._cache_size = cache_size
        self._rows: OrderedDict[str, LabelRow] = OrderedDict()  # by text, the last asked last

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        *,
        name: str = "chexbert",
        device: str | torch.device = "cpu",
        cache_size: int = 32_768,
    ) -> CheXbertLabeler:
        """A labeler from disk; what `radrl.labelers.chexbert.folder.load` refuses is refused."""
        model, tokenizer = on_disk.load(folder, device=device)
        model.requires_grad_(False)  # of gradients, saliency wants none but the embeddings'
        return cls(model, tokenizer, name=name, cache_size=cache_size)

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return next(self.model.parameters()).device

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """Label reports.

        Args:
            reports: N report texts, raw.

        Returns:
            Class indices in the order of `radrl.observations.OBSERVATIONS`, shape (N, 14), dtype int8.

        Raises:
            TypeError: a report is no string; the message names its number.
            ValueError: the model's logits are not finite.
        """
        check_texts(reports)
        rows = {text: self._recall(text) for text in reports}  # each text once, in the order given
        new = [text for text, row in rows.items() if row is None]
        for start in range(0, len(new), _CHUNK):
            texts = new[start : start + _CHUNK]
            found = self._read(self.encode(texts))
            self.remember(texts, found)
            rows.update(zip(texts, found, strict=True))
        return np.array([rows[text] for text in reports], dtype=np.int8).reshape(-1, len(OBSERVATIONS))

    def encode(self, reports: Sequence[str]) -> list[Encoded]:
        """Tokenise reports as the model reads them, cut to its positions.

        Args:
            reports: N texts.

        Returns:
            N encoded reports.
        """
        positions = int(self.model.bert.config.max_position_embeddings)
        return encode(self.tokenizer, reports, min(MAX_TOKENS, positions))

    def remember(self, reports: Sequence[str], rows: LabelMatrix) -> None:
        """Keep labels for later calls; a text that is remembered already keeps the labels it has.

        Args:
            reports: N texts.
            rows: their labels, shape (N, 14).
        """
        for text, row in zip(reports, rows, strict=True):
            self._rows.setdefault(text, row.copy())
        while len(self._rows) > self._cache_size:
            self._rows.popitem(last=False)

    def _recall(self, text: str) -> LabelRow | None:
        row = self._rows.get(text)
        if row is not None:
            self._rows.move_to_end(text)
        return row

    def _read(self, reports: Sequence[Encoded]) -> LabelMatrix:
        """Ask the model, shape (N, 14)."""
        rows = np.full((len(reports), len(OBSERVATIONS)), BLANK, dtype=np.int8)
        texts = [i for i, report in enumerate(reports) if report.spans]
        for batch in by_length([len(reports[i].ids) for i in texts], self._batch_tokens):
            chosen = [texts[i] for i in batch]
            rows[chosen] = self._read_batch([reports[i] for i in chosen])
        return rows

    def _read_batch(self, reports: Sequence[Encoded]) -> LabelMatrix:
        ids, mask = pad(reports, self.tokenizer.pad_token_id, self.device)  # (B, L) each
        # a trainer's autocast must not reach the labels
        with torch.inference_mode(), torch.autocast(ids.device.type, enabled=False):
            return classes(self.model(ids, mask))


def classes(logits: Sequence[torch.Tensor]) -> LabelMatrix:
    """The likeliest class of each observation, the first of equals.

    Args:
        logits: of each observation, shapes (B, 4) and (B, 2), as `CheXbert` returns them.

    Returns:
        Class indices, shape (B, 14), dtype int8.

    Raises:
        ValueError: a logit is not finite.
    """
    if not torch.cat(list(logits), dim=1).isfinite().all():
        raise ValueError(
            "CheXbert's logits are not finite: its weights are damaged, or its training diverged"
        )
    found = torch.stack([head.argmax(dim=1) for head in logits], dim=1)  # (B, 14)
    return found.to(torch.int8).cpu().numpy()


def stored(models: Path | None, name: str, *, device: str, key: str, remembers: bool = True) -> Labeler:
    """Load a CheXbert.

    Args:
        models: what the stage `labeler` wrote.
        name: of its folder in there, and of the labeler.
        device: where it runs.
        key: what in params.yaml gives it a model.
        remembers: whether it keeps labels from call to call.

    Raises:
        LabelerError: when its model is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    if models is None or not (models / name).is_dir():
        raise LabelerError(f"there is no model of {name}: set {key} and run the stage labeler")
    weights = pointers.resolve(models / name, stage="labeler")
    kept = {} if remembers else {"cache_size": 0}
    return CheXbertLabeler.from_folder(weights, name=name, device=device, **kept)

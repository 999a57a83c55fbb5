"""A small convolutional network that reads labels off films: what supervision by labels alone can reach."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import nn
from tqdm import tqdm

from radrl.algorithms.f_measure import BoolArray
from radrl.observations import OBSERVATIONS
from radrl.readers import Films, Probabilities, mean_of_films
from radrl.storage import complete_weights

BATCH: Final = 128
"""Films read at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """The films of N samples, kept in bytes: as floats they would take four times the memory.

    Args:
        grey: all films, sample after sample, shape (F, H, W).
        counts: films of each sample, shape (N,).
    """

    grey: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]


class LabelNetwork:
    """A reader of under a hundred thousand weights, trained from nothing.

    Every film is an example with its sample's labels.

    Args:
        settings: channels, epochs, batch_size, learning_rate, weight_decay.
        seed: of the weights and of shuffling.
        device: where it learns and reads.
    """

    def __init__(self, settings: Mapping[str, Any], *, seed: int, device: str | torch.device = "cpu") -> None:
        self.settings = settings
        torch.manual_seed(seed)
        # a quarter faster on a CPU in this layout
        network = _Convolutions(settings["channels"]).to(memory_format=torch.channels_last)
        self.network, self.device = network.to(device), torch.device(device)

    @property
    def parameters(self) -> int:
        """Weights."""
        return sum(weights.numel() for weights in self.network.parameters())

    def prepare(self, samples: Sequence[Films]) -> Pictures:
        """Decode the films, which have one size; a sample's films are read when their turn comes."""
        counts: list[int] = []

        def decoded() -> Iterator[npt.NDArray[np.uint8]]:
            for films in samples:
                counts.append(len(films))
                yield from map(_decode, films)

        return Pictures(_stacked(decoded()), np.array(counts))

    def fit(self, prepared: Pictures, targets: BoolArray) -> None:
        """Train.

        Raises:
            radrl.storage.complete_weights.WeightsError: when the training diverged.
        """
        films = torch.from_numpy(prepared.grey)  # (F, H, W)
        wanted = torch.from_numpy(np.repeat(targets, prepared.counts, axis=0)).float()  # (F, 14)
        rate, size = self.settings["learning_rate"], self.settings["batch_size"]
        steps = self.settings["epochs"] * -(-len(films) // size)
        weights = self.network.parameters()
        optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=self.settings["weight_decay"])
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.3)
        self.network.train()
        with tqdm(total=steps, desc="network", unit=" steps") as progress:
            for _ in range(self.settings["epochs"]):
                for index in torch.randperm(len(films)).split(size):
                    shown, labels = films[index].to(self.device), wanted[index].to(self.device)
                    loss = nn.functional.binary_cross_entropy_with_logits(self.network(shown), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    schedule.step()
                    progress.update()
        self.network.eval()
        complete_weights.check_numbers(
            self.network, "the network", mend="Its training diverged: lower ceilings.network.learning_rate"
        )

    @torch.no_grad()
    def probabilities(self, prepared: Pictures) -> Probabilities:
        """Read the films, and average over those of each sample."""
        parts = torch.from_numpy(prepared.grey).split(BATCH)
        read = torch.cat([self.network(part.to(self.device)).sigmoid() for part in parts])  # (F, 14)
        return mean_of_films(read.cpu().numpy(), prepared.counts)


class _Convolutions(nn.Module):
    """A strided stem, three blocks that halve the film, and a linear map of what was found in all places.

    The mean over places tells what fills a film, the maximum what is small.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(1, affine=False),  # so that no mean and spread of grey has to be known beforehand
            nn.Conv2d(1, channels, 5, stride=2, padding=2, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            _block(channels, channels),
            _block(channels, 2 * channels),
            _block(2 * channels, 4 * channels),
        )
        self.head = nn.Linear(8 * channels, len(OBSERVATIONS))

    def forward(self, films: torch.Tensor) -> torch.Tensor:
        """Logits (B, 14) of films (B, H, W) in 8-bit grey."""
        found = self.body(films[:, None].float() / 255)  # (B, 4 channels, H / 16, W / 16)
        logits: torch.Tensor = self.head(torch.cat([found.mean((2, 3)), found.amax((2, 3))], dim=1))
        return logits


def _block(channels: int, more: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, more, 3, padding=1, bias=False),
        nn.BatchNorm2d(more),
        nn.ReLU(inplace=True),
        nn.Conv2d(more, more, 3, padding=1, bias=False),
        nn.BatchNorm2d(more),
        nn.MaxPool2d(2),  # before the ReLU, which it commutes with, so that a quarter is left to do
        nn.ReLU(inplace=True),
    )


def _stacked(films: Iterator[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    """Pictures of one size, shape (F, H, W), without the list that np.stack would hold beside them."""
    first = next(films)
    return np.fromiter(chain([first], films), dtype=np.dtype((np.uint8, first.shape)))


def _decode(film: bytes) -> npt.NDArray[np.uint8]:
    with Image.open(io.BytesIO(film)) as image:
        return np.asarray(image.convert("L"), dtype=np.uint8)

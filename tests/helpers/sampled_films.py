"""Which films were really sampled."""

from __future__ import annotations

import pytest

from radrl.policy.sampling import Sampling
from radrl.policy.writer import Writer


def note_sampled(monkeypatch: pytest.MonkeyPatch, films: list[str]) -> None:
    """Put into a list the ids of films that this process samples, in order."""
    original = Sampling._rows_of_batch

    def noting(self: Sampling, writer: Writer, samples: range) -> list[dict[str, object]]:
        films.extend(self.sample_ids[samples.start : samples.stop])
        return original(self, writer, samples)

    monkeypatch.setattr(Sampling, "_rows_of_batch", noting)

"""What numbers cannot say: those of drawn films, and those of one seed."""

from __future__ import annotations

from typing import Final

DRAWN_FILMS: Final = (
    "Drawn films: these numbers show that the machinery works. They say nothing about patients."
)

_ELSEWHERE: Final = "trained again with another seed, a method ends elsewhere"

ONE_SEED: Final = f"One seed: {_ELSEWHERE} (`radrl study` runs several)."
"""Below values without intervals."""

OVER_PATIENTS: Final = (
    "Intervals and tests of one comparison are over its patients: on others the same trained policies would "
    f"score about so. They are no test of training: {_ELSEWHERE}."
)
"""Below a comparison of arms that were trained once."""

NOT_OURS: Final = " (not ours)"
"""Behind the name of a row that was not made here."""

SHARED_FILMS: Final = """\
All seeds have the same films: what the tests say is of training, on these films. On others the differences
would come out otherwise by what the table of the spread gives for the test films."""
"""Where the seeds of a study share their films."""

ONE_SEED_STUDY: Final = """\
One seed: interval and p come from resampling its patients. What another training would give is not in
them."""
"""In the Markdown of a study with one seed."""

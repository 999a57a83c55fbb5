from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from radrl.data.phantom.film import draw_film
from radrl.data.phantom.findings import DRAWN, SITES, Case, Finding, Site, case_from_labels

SIZE = 112
PLACED = [(label, site) for label in DRAWN for site, _ in SITES[label]]
ONE_SIDED = [(label, site) for label, site in PLACED if site[0] in ("left", "right")]
# Rows of the film, as shares of its height, in which a zone's finding has its middle.
ROWS = {
    "apex": (0.05, 0.38),
    "upper": (0.15, 0.42),
    "mid": (0.32, 0.58),
    "lower": (0.45, 0.75),
    "base": (0.5, 0.9),
}


def normal_case() -> Case:
    return replace(case_from_labels([], np.random.default_rng(3)), portable=False, shallow=False)


def with_finding(label: str, site: Site, severity: float, seed: int = 5) -> Case:
    return replace(normal_case(), findings=(Finding(label, *site, severity, False, seed),))


def film(case: Case, view: str = "frontal", size: int = SIZE, noise: float = 0.0) -> npt.NDArray[np.float64]:
    return draw_film(case, np.random.default_rng(11), size, view, noise).astype(float)


def change(label: str, site: Site, severity: float = 0.7, view: str = "frontal") -> npt.NDArray[np.float64]:
    return np.abs(film(with_finding(label, site, severity), view) - film(normal_case(), view))


@pytest.mark.parametrize("view", ["frontal", "lateral"])
def test_a_film_is_eight_bit_and_uses_the_range(view: str) -> None:
    pixels = draw_film(normal_case(), np.random.default_rng(0), 160, view)
    assert pixels.shape == (160, 160)
    assert pixels.dtype == np.uint8
    assert np.percentile(pixels, 5) < 60
    assert np.percentile(pixels, 95) > 180


def test_same_seed_same_bytes_other_seed_other_bytes() -> None:
    case = case_from_labels(DRAWN, np.random.default_rng(0))
    first, again, other = (draw_film(case, np.random.default_rng(seed), SIZE).tobytes() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_lungs_are_dark_and_the_middle_is_bright() -> None:
    pixels = film(normal_case())
    right, left = pixels[40:60, 24:40].mean(), pixels[40:60, 72:88].mean()
    middle, abdomen = pixels[40:60, 53:59].mean(), pixels[100:, 30:80].mean()
    assert max(right, left) + 60 < min(middle, abdomen)


@pytest.mark.parametrize(("label", "site"), PLACED, ids=str)
def test_every_finding_shows(label: str, site: Site) -> None:
    assert change(label, site).max() > 25
    if label != "Cardiomegaly":
        assert (change(label, site, view="lateral") > 8).sum() > 5


@pytest.mark.parametrize(("label", "site"), ONE_SIDED, ids=str)
def test_a_one_sided_finding_shows_on_its_side(label: str, site: Site) -> None:
    difference = change(label, site)
    right, left = difference[:, : SIZE // 2].sum(), difference[:, SIZE // 2 :].sum()
    stated, other = (right, left) if site[0] == "right" else (left, right)
    reaches_the_heart = label == "Support Devices"  # lines and leads end in the vena cava or the heart
    assert stated > (0.8 if reaches_the_heart else 6) * other


@pytest.mark.parametrize(("label", "site"), [p for p in PLACED if p[1][1] in ROWS], ids=str)
def test_a_finding_lies_at_its_height(label: str, site: Site) -> None:
    weight = change(label, site, severity=0.2).sum(axis=1)
    middle = float((weight * np.arange(SIZE)).sum() / weight.sum()) / SIZE
    low, high = ROWS[site[1]]
    assert low < middle < high


@pytest.mark.parametrize("view", ["frontal", "lateral"])
@pytest.mark.parametrize(("label", "site"), [p for p in PLACED if p[0] != "Support Devices"], ids=str)
def test_the_graver_the_more_it_shows(label: str, site: Site, view: str) -> None:
    mild, moderate, grave = (change(label, site, severity, view).sum() for severity in (0.1, 0.5, 0.9))
    assert mild < moderate < grave


def test_size_changes_the_grid_and_not_the_chest() -> None:
    case = case_from_labels(["Pleural Effusion", "Lung Lesion", "Cardiomegaly"], np.random.default_rng(2))
    small, large = (draw_film(case, np.random.default_rng(4), size, noise=0.0) for size in (112, 448))
    shrunk = np.asarray(Image.fromarray(large).resize((112, 112), Image.Resampling.BOX), dtype=float)
    assert np.abs(shrunk - small).mean() < 3
    assert np.corrcoef(shrunk.ravel(), small.ravel())[0, 1] > 0.995


def test_noise_adds_grain() -> None:
    clean = film(normal_case())
    spread = [np.std(film(normal_case(), noise=noise) - clean) for noise in (0.02, 0.08)]
    assert 2 < spread[0] < spread[1]


@pytest.mark.parametrize(
    ("size", "view", "noise", "message"),
    [
        (112, "oblique", 0.0, "no view 'oblique'"),
        (16, "frontal", 0.0, "size 16"),
        (112, "frontal", -1.0, "noise -1.0"),
    ],
)
def test_wrong_arguments_are_refused(size: int, view: str, noise: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_film(normal_case(), np.random.default_rng(0), size, view, noise)

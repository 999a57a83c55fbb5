"""How many films a recipe's splits have: drawn ones by its parameters, others by what is published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from radrl.data.sources.mimic_cxr.r2gen_split import SAMPLES
from radrl.data.study import SPLITS
from radrl.params.schema import expected_films

if TYPE_CHECKING:
    from radrl.params.data import Ingest
    from radrl.params.schema import Params


@dataclass(frozen=True, slots=True)
class Films:
    """Samples of each split.

    Args:
        train: training films.
        val: validation films.
        test: films that are scored.
        pretrain: films of the laptop policy's pretraining.
        away: test films of another hospital.
        of_a_study: films of a study; about.
        source: where the numbers are from.
    """

    train: int
    val: int
    test: int
    pretrain: int = 0
    away: int = 0
    of_a_study: float = 1.0
    source: str = ""

    @property
    def all(self) -> int:
        """Of all splits."""
        return self.train + self.val + self.test + self.pretrain + self.away


_MIMIC: Final = 377_110 / 227_835
_CHEXPERT: Final = 223_462 / 187_711
_REXGRADIENT: Final = 273_004 / 160_000
PUBLISHED: Final[dict[tuple[str, str], Films]] = {
    ("mimic_cxr", "r2gen"): Films(
        **SAMPLES, of_a_study=_MIMIC, source="R2Gen's samples (docs/data/mimic_cxr.md)"
    ),
    ("mimic_cxr", "official"): Films(
        **SAMPLES,
        of_a_study=_MIMIC,
        source="films with findings of MIMIC-CXR's split, as many as R2Gen has samples",
    ),
    ("chexpert_plus", "mambaxray"): Films(
        40_463,
        5_780,
        11_562,
        of_a_study=_CHEXPERT,
        source="MambaXray-VL's authors (docs/data/chexpert_plus.md)",
    ),
    ("chexpert_plus", "release"): Films(
        223_228, 234, 0, of_a_study=_CHEXPERT, source="CheXpert Plus' release (docs/data/chexpert_plus.md)"
    ),
    ("rexgradient", "release"): Films(
        238_968, 17_007, 17_029, of_a_study=_REXGRADIENT, source="its owners (docs/data/rexgradient.md)"
    ),
    ("iu_xray", "r2gen"): Films(
        4_138, 592, 1_180, of_a_study=2.0, source="R2Gen's 2,069, 296 and 590 studies of two films"
    ),
}
"""By source and its `split`: upper bounds, for what is quarantined or left out is not known here."""
GOLD: Final = 234
"""Films of the 200 studies that radiologists labelled (docs/data/chexpert_plus.md)."""
WHOLE: Final[dict[str, tuple[int, float, str]]] = {
    "mimic_cxr": (377_110, _MIMIC, "all films of MIMIC-CXR (docs/data/mimic_cxr.md)"),
    "chexpert_plus": (223_462, _CHEXPERT, "all films of CheXpert Plus (docs/data/chexpert_plus.md)"),
    "rexgradient": (273_004, _REXGRADIENT, "all films of ReXGradient-160K (docs/data/rexgradient.md)"),
    "padchest_gr": (4_555, 1.0, "all films of PadChest-GR (docs/data/padchest_gr.md)"),
    "iu_xray": (5_910, 2.0, "R2Gen's 2,955 studies of two films (docs/data/iu_xray.md)"),
    "phantom": (2_013, 1.03, "films that conf/recipes/openi-laptop.yaml keeps (docs/openi.md)"),
}
"""Of sources whose split is drawn; under `phantom` those of Open-i whose films are drawn."""


def recipe_films(params: Params, given: int | None) -> Films | None:
    """The films of a recipe.

    Args:
        params: the recipe.
        given: films of the training split, where the user says so.

    Returns:
        Their numbers by split; nothing where nobody knows them.
    """
    found = _drawn(params.ingest) or _published(params.ingest)
    if found is not None and params.ingest.away is not None:
        found = replace(found, away=_away(params.ingest))
    if given is None:
        return found
    if found is None or not found.train:
        return _shared(params.ingest, 0, found.of_a_study if found else 1.0, "--films", train=given)
    return replace(found, train=given, source=f"--films; the others: {found.source}")


def of_selection(params: Params, films: Films, name: str) -> int:
    """Films of an arm's selection; one of one's own has at most all of them."""
    if (counted := expected_films(params, name)) is not None:
        return counted
    own = params.selection.parts().get(name)
    if name == "balanced" and own is not None:
        per = films.of_a_study if params.ingest.sample == "image" else 1.0
        return int(min(films.train, round(own.studies * per)))
    share = getattr(own, "share", 1.0) if own is not None else 1.0
    return max(1, round(share * films.train))


def _away(ingest: Ingest) -> int:
    """Films of the other hospital; 0 where nobody knows."""
    there, split = ingest.at_away(), ingest.away.split if ingest.away else None
    films = _drawn(there) or _published(there) or Films(0, 0, 0)
    return films.all if split is None else int(getattr(films, split))


def _drawn(ingest: Ingest) -> Films | None:
    phantom = ingest.parts().get("phantom")
    if ingest.source != "phantom" or phantom is None:
        return None
    per = 1.0 + (phantom.lateral_share if ingest.sample == "image" else 0.0)
    counts = {name: round(per * phantom.studies.get(name, 0)) for name in SPLITS}
    return Films(**counts, of_a_study=per, source="drawn: ingest.phantom.studies")


def _published(ingest: Ingest) -> Films | None:
    source = ingest.source
    own = ingest.parts().get(source)
    split = getattr(own, "split", None)
    found = PUBLISHED.get((source, str(split)))
    if found is None and source in WHOLE:
        whole = "phantom" if getattr(own, "images", None) == "phantom" else source
        number, per, said = WHOLE[whole]
        found = _shared(ingest, number, per, said)
    if found is not None and getattr(own, "test", None) == "gold":
        found = replace(found, test=GOLD, source=f"{found.source}; test: 200 studies with gold labels")
    return found


def _shared(ingest: Ingest, number: int, per: float, source: str, *, train: int | None = None) -> Films:
    """Films by `ingest.split_shares`: of all, or of those that a training split stands for."""
    shares = {name: float(share) for name, share in ingest.split_shares.items()}
    if train is not None:
        number = round(train / shares["train"]) if shares.get("train") else train
    counts = {name: round(number * shares.get(name, 0.0)) for name in SPLITS}
    if train is not None:
        counts["train"] = train
    return Films(**counts, of_a_study=per, source=f"{source}, by ingest.split_shares")

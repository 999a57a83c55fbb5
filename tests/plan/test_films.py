"""How many films a recipe has."""

import pytest
import yaml

from radrl.params.schema import read, validate
from radrl.plan import films


@pytest.mark.parametrize(
    ("recipe", "splits"),
    [
        ("deer-mimic_cxr", (270_790, 2_130, 3_858)),
        ("deer-chexpert_plus", (40_463, 5_780, 11_562)),
        # 98, 1 and 1 % of 4,555
        ("deer-padchest_gr", (4_464, 46, 46)),
        ("deer-rexgradient", (238_968, 17_007, 17_029)),
        ("orapo-chexpert_plus", (40_463, 5_780, 234)),
        ("mrg_r1-iu_xray", (4_138, 592, 1_180)),
        ("deer-iu_xray-zeroshot", (0, 0, 5_910)),
        ("phantom-laptop", (1_200, 200, 1_600)),
    ],
)
def test_films_are_drawn_or_published(recipe, splits, recipes):
    found = films.recipe_films(read(recipes[recipe]), None)
    assert (found.train, found.val, found.test) == splits
    assert found.source


def test_nobody_knows_the_films_of_a_table_of_ones_own(recipes):
    params = read(recipes["csv-laptop"])
    assert films.recipe_films(params, None) is None
    # 0.3 pretrain, 0.4 train, 0.1 val, 0.2 test
    found = films.recipe_films(params, 400)
    assert (found.train, found.val, found.test, found.pretrain) == (400, 100, 200, 300)


@pytest.mark.parametrize(
    ("recipe", "away", "counted"),
    [
        ("phantom-laptop", {"source": "phantom", "set": {"studies": {"test": 30}}}, 30),
        (
            "phantom-laptop",
            {"source": "phantom", "split": "val", "set": {"studies": {"test": 30, "val": 4}}},
            4,
        ),
        ("deer-chexpert_plus", {"source": "chexpert_plus", "split": "val"}, 5_780),
    ],
)
def test_films_of_another_hospital_are_those_of_its_split(recipe, away, counted, recipes):
    values = yaml.safe_load(recipes[recipe].read_text())
    values["ingest"]["away"] = away
    found = films.recipe_films(validate(values), None)
    assert found.away == counted
    assert found.all == found.train + found.val + found.test + found.pretrain + counted


def test_what_the_user_says_is_taken(recipes):
    found = films.recipe_films(read(recipes["deer-mimic_cxr"]), 1_000)
    assert (found.train, found.test) == (1_000, 3_858)
    assert found.source.startswith("--films")


def test_selections_take_their_shares(recipes):
    params = read(recipes["deer-mimic_cxr"])
    found = films.recipe_films(params, None)
    assert films.of_selection(params, found, "full") == 270_790
    assert films.of_selection(params, found, "ddsampling") == 54_158
    # 1,000 studies of 377,110 films in 227,835 studies
    assert films.of_selection(params, found, "balanced") == 1_655

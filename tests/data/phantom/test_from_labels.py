import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radrl.data.phantom.film import draw_film
from radrl.data.phantom.findings import DRAWN, SITES
from radrl.data.phantom.from_labels import (
    BUILD,
    COLUMNS,
    DEGREES,
    NOT_DRAWN,
    SIDES,
    TAGS,
    ZONES,
    IndexedFilm,
    case_from_index,
    is_indexed,
    unmapped,
)

QUALIFIERS = sorted(
    {*SIDES, *ZONES, *DEGREES, "round", "pleura", "ribs", "lung", "trachea", "abdomen", "multiple"}
)
HEADS = sorted({*TAGS, *(head for head, *_ in BUILD), *NOT_DRAWN})
FILM = IndexedFilm("CXR1", (), frozenset(), 0, "frontal", 0, 112, 0.0)


def case(*tags, columns=(), seed=0):
    return case_from_index(tags, columns, np.random.default_rng(seed))


def seen(*tags, columns=()):
    return {(f.label, f.side, f.zone, f.kind) for f in case(*tags, columns=columns).findings}


def film(*tags, view="frontal", **fields):
    return replace(FILM, tags=tags, view=view, **fields)().astype(float)


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("Cardiomegaly/mild", ("Cardiomegaly", "midline", "", "")),
        ("Cardiac Shadow/enlarged", ("Cardiomegaly", "midline", "", "")),
        ("Opacity/lung/upper lobe/right/streaky", ("Lung Opacity", "right", "upper", "")),
        ("Opacity/lung/lingula", ("Lung Opacity", "left", "mid", "")),
        ("Opacity/lung/middle lobe", ("Lung Opacity", "right", "mid", "")),
        ("Opacity/lung/upper lobe/right/round", ("Lung Lesion", "right", "upper", "")),
        ("Airspace Disease/lung/hilum/bilateral", ("Lung Opacity", "both", "mid", "")),
        ("Pulmonary Atelectasis/base/bilateral", ("Atelectasis", "both", "base", "")),
        ("Pulmonary Edema/interstitial", ("Edema", "both", "hilum", "")),
        ("Consolidation/lung/lower lobe/left", ("Consolidation", "left", "lower", "")),
        ("Nodule/lung/lower lobe/left", ("Lung Lesion", "left", "lower", "")),
        ("Pleural Effusion/right ", ("Pleural Effusion", "right", "base", "")),
        ("Costophrenic Angle/left/blunted", ("Pleural Effusion", "left", "base", "")),
        ("Pneumothorax/right/apex/small", ("Pneumothorax", "right", "apex", "")),
        ("Thickening/pleura/apex/left", ("Pleural Other", "left", "apex", "thickening")),
        ("Calcinosis/pleura/right", ("Pleural Other", "right", "lower", "plaque")),
        ("Fractures, Bone/ribs/right/apex", ("Fracture", "right", "upper", "")),
        ("Catheters, Indwelling/left", ("Support Devices", "left", "", "central line")),
        ("Implanted Medical Device/left", ("Support Devices", "left", "", "pacemaker")),
        ("Implanted Medical Device/aortic valve", ("Support Devices", "midline", "", "valve")),
        ("Tube, Inserted/trachea, carina", ("Support Devices", "midline", "", "endotracheal tube")),
        ("Surgical Instruments/mediastinum", ("Support Devices", "midline", "", "valve")),
    ],
)
def test_a_tag_gives_its_finding_at_its_place(tag, expected):
    assert seen(tag) == {expected}


@pytest.mark.parametrize(
    "tag",
    [
        "normal",
        "Fractures, Bone/clavicle/left",  # only ribs can be broken
        "Implanted Medical Device/humerus/left",  # no pacemaker, though it lies left
        "Calcinosis/lung/hilum/lymph nodes",
        "Calcinosis/aorta",
        "Aorta/obscured",
        "Scoliosis/thoracic vertebrae/mild",
        "Something New/lung",
    ],
)
def test_what_cannot_be_drawn_leaves_no_finding(tag):
    assert seen(tag) == set()


def test_findings_that_differ_by_side_are_drawn_on_each():
    assert {f.side for f in case("Pneumothorax/bilateral").findings} == {"right", "left"}
    assert {f.side for f in case("Fractures, Bone/ribs/right/left").findings} == {"right", "left"}


def test_hydropneumothorax_is_air_over_fluid():
    assert {(label, side) for label, side, *_ in seen("Hydropneumothorax/right")} == {
        ("Pneumothorax", "right"),
        ("Pleural Effusion", "right"),
    }


def test_several_nodules_lie_in_three_places_of_the_named_side():
    places = seen("Calcified Granuloma/lung/right/multiple")
    assert len(places) == 3
    assert {side for _, side, *_ in places} == {"right"}


def test_two_tags_of_one_thing_are_one_finding_the_gravest():
    (heart,) = case("Cardiac Shadow/enlarged/borderline", "Cardiomegaly/severe").findings
    assert heart.severity > 0.8
    (fluid,) = case("Pleural Effusion/left/large", "Costophrenic Angle/left/blunted").findings
    assert fluid.severity > 0.8


@given(st.sampled_from(["Cardiomegaly", "Pleural Effusion", "Pulmonary Edema"]), st.integers(0, 2**16))
def test_degrees_are_in_order(head, seed):
    severities = [
        case(f"{head}{degree}", seed=seed).findings[0].severity
        for degree in ("/mild", "/moderate", "/severe")
    ]
    assert severities == sorted(severities)
    assert severities[1] - severities[0] > 0.2


def test_columns_count_where_no_tag_gave_the_observation():
    assert {label for label, *_ in seen("Scoliosis", columns=["Effusion", "Edema"])} == {
        "Pleural Effusion",
        "Edema",
    }
    assert seen("Pleural Effusion/left", columns=["Effusion"]) == {("Pleural Effusion", "left", "base", "")}
    assert seen(columns=["normal", "Hernia"]) == set()


def test_the_pericardial_effusions_of_the_table_are_no_pleural_ones():
    assert {label for label, *_ in seen("Pericardial Effusion", columns=["Effusion"])} == {"Cardiomegaly"}


def test_the_build_follows_the_tags():
    plain = case("normal")
    assert case("Lung/hypoinflation").shallow
    assert not plain.shallow
    for how in ("Lung/hyperdistention/severe", "Emphysema", "Diaphragm/flattened"):
        assert case(how).anatomy.dome == pytest.approx(plain.anatomy.dome + 0.09)
    assert case("normal", columns=["Emphysema"]).anatomy.dome > plain.anatomy.dome
    assert case("Aorta, Thoracic/tortuous").anatomy.aorta >= 1.4 > 1.2 >= plain.anatomy.aorta


@pytest.mark.parametrize(
    ("tags", "columns", "known"),
    [
        (["No Indexing"], frozenset(), False),
        ([], None, False),
        (["No Indexing"], frozenset({"Edema"}), True),
        ([], frozenset(), True),
        (["normal"], None, True),
    ],
)
def test_a_study_that_nobody_indexed_is_told_apart(tags, columns, known):
    assert is_indexed(tags, columns) is known


def test_unmapped_heads_are_told():
    assert unmapped(["Cardiomegaly/mild", "Lung/hypoinflation", "Scoliosis", "Gnomes/left"]) == {"gnomes"}


def test_tables_are_closed():
    drawable = {look.label for looks in TAGS.values() for look in looks} - {""}
    assert drawable == set(DRAWN)
    kinds = {look.kind for looks in TAGS.values() for look in looks if look.label == "Support Devices"}
    assert kinds <= {site[2] for site, _ in SITES["Support Devices"]}
    assert not NOT_DRAWN & (TAGS.keys() | {head for head, *_ in BUILD})
    assert len(COLUMNS) == 14


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda head, words: "/".join([head, *words]),
            st.sampled_from(HEADS),
            st.lists(st.sampled_from(QUALIFIERS), max_size=4),
        ),
        max_size=5,
    ),
    st.sets(st.sampled_from(sorted(COLUMNS))),
    st.sampled_from(["frontal", "lateral"]),
)
def test_every_combination_of_tags_can_be_drawn(tags, columns, view):
    drawn = case_from_index(tags, columns, np.random.default_rng(1))
    assert draw_film(drawn, np.random.default_rng(2), 32, view).shape == (32, 32)


def test_a_film_is_the_same_each_time_also_in_another_process():
    drawing = replace(FILM, tags=("Pneumonia", "Catheters, Indwelling"), columns=frozenset({"Edema", "Mass"}))
    assert (drawing() == drawing()).all()
    assert (pickle.loads(pickle.dumps(drawing))() == drawing()).all()


def test_films_differ_by_study_seed_and_number():
    films = [film(), film(study="CXR2"), film(seed=1), film(number=1), film(view="lateral")]
    assert len({f.tobytes() for f in films}) == len(films)


def test_cardiomegaly_shows_a_wide_heart():
    def width(image):
        # bright columns across the film in the rows of the heart
        rows = image[int(0.52 * 112) : int(0.62 * 112)].mean(axis=0)
        return (rows[20:92] > 200).sum()

    normal, mild, severe = (
        width(film(tag)) for tag in ("normal", "Cardiomegaly/mild", "Cardiomegaly/severe")
    )
    assert normal + 3 < mild < severe - 5


def test_an_effusion_fills_the_angle_of_its_side():
    normal = film("normal")
    for tag, columns in (("right", slice(8, 40)), ("left", slice(72, 104))):
        added = film(f"Pleural Effusion/{tag}/large") - normal
        other = slice(72, 104) if tag == "right" else slice(8, 40)
        rows = slice(60, 80)
        assert added[rows, columns].mean() > 40
        assert abs(added[rows, other].mean()) < 4

"""Digests of parameters: what moves them, and what leaves them alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pytest
import yaml

from radrl.params.data import Ingest
from radrl.params.rows import RowSections, row_digest, row_digests
from radrl.params.schema import read, validate
from radrl.params.section_digest import digest_of, stated_values
from radrl.params.training import Training
from radrl.parts.section import Neutral, Section

Values = dict[str, Any]
METRIC = "ce_rules_sample14_f1"
TABLE_OF = "params.yaml"
"""What conf/base/seeds_results.csv was made with: the study that ships."""
MANY_ARMS = "conf/recipes/phantom-60-updates.yaml"
"""A recipe with more arms than ship, whose rows the keys below move."""

TRAINED = ["grpo", "ditpo_rule", "ditpo_grad", "deer", "orapo", "facts_after_sft", "mrg_r1", "deer_oracle"]


@pytest.fixture
def values(root: Path) -> Values:
    loaded: Values = yaml.safe_load((root / MANY_ARMS).read_text())
    return loaded


@pytest.fixture(scope="session")
def shipped(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "conf/base/seeds_results.csv")


def put(values: Values, key: str, value: Any) -> Values:
    """The same parameters but for one key, written with dots."""
    changed = copy.deepcopy(values)
    *parents, last = key.split(".")
    section = changed
    for parent in parents:
        section = section[parent]
    section[last] = value
    return changed


def moved(values: Values, changed: Values, metric: str = METRIC) -> set[str]:
    """The rows that a change moves, of arms and of those that stand beside them."""
    names = [*values["arms"], "nearest_training_film", "label_network", "tower_probe", "tower_probe_base"]
    before, after = row_digests(values), row_digests(changed)
    return {row for row in names if before(row, metric) != after(row, metric)}


class Inner(Section):
    size: int = 3


class Outer(Section):
    rate: float
    name: str | None
    inner: Inner | None
    shares: dict[str, float | None]
    bounds: list[float]
    depth: int = 2
    engine: Annotated[str, Neutral("hf")]


GIVEN = {"rate": 1.0, "name": None, "inner": None, "shares": {"a": 0.5, "b": None}, "bounds": [1, 2.5]}
GIVEN |= {"engine": "hf"}


def test_what_is_so_anyway_is_not_stated() -> None:
    # null, a null within a mapping, the default (depth) and the neutral value (engine) are left out
    assert stated_values(Outer(**GIVEN)) == {"rate": 1, "shares.a": 0.5, "bounds": [1, 2.5]}
    other = Outer(**GIVEN | {"depth": 4, "engine": "vllm", "name": "x", "inner": Inner(size=5)})
    assert stated_values(other, "at.", without={"rate", "bounds"}) == {
        "at.shares.a": 0.5,
        "at.depth": 4,
        "at.engine": "vllm",
        "at.name": "x",
        "at.inner.size": 5,
    }


def test_a_part_that_is_named_is_stated_though_all_of_it_is_so_anyway() -> None:
    assert stated_values(Outer(**GIVEN | {"inner": Inner()}))["inner"] == {}


def test_a_digest_does_not_know_how_a_number_is_written_or_in_which_order() -> None:
    one, other = (
        {"a": stated_values(Outer(**GIVEN))},
        {"a": stated_values(Outer(**dict(reversed(GIVEN.items()))))},
    )
    assert digest_of(one) == digest_of(other)
    assert digest_of(stated_values(Outer(**GIVEN | {"bounds": [1.0, 2.5]}))) == digest_of(
        stated_values(Outer(**GIVEN))
    )
    assert digest_of(stated_values(Outer(**GIVEN | {"bounds": [1.5, 2.5]}))) != digest_of(
        stated_values(Outer(**GIVEN))
    )


def test_the_parameters_that_the_table_is_of_find_every_row_of_it(shipped: pd.DataFrame, root: Path) -> None:
    values: Values = yaml.safe_load((root / TABLE_OF).read_text())
    mend = "see `make seeds`: the table is of other parameters; run the study again"
    assert set(shipped["corpus"]) == {read(root / TABLE_OF).ingest.digest()}, mend
    own = row_digests(values)
    lost = {row.arm for row in shipped.itertuples() if row.settings != own(row.arm, row.metric)}
    assert lost == set(), mend
    assert set(shipped["arm"]) >= {*values["arms"], "nearest_training_film", "label_network", "tower_probe"}
    assert set(shipped["metric"]) == {*values["compare"]["metrics"]}


def test_the_corpus_has_a_digest_of_its_own_source_alone(values: Values) -> None:
    def digest(**changed: Any) -> str:
        return Ingest.model_validate(values["ingest"] | changed).digest()

    same = digest()
    phantom = values["ingest"]["phantom"]
    assert digest(csv=None) == same
    assert digest(csv=values["ingest"]["csv"] | {"path": "elsewhere.csv"}) == same
    assert digest(iu_xray={"root": "data/01_raw/iu_xray"}) == same  # a source that was not there
    assert digest(phantom=phantom | {"severity": [5, 2]}) == same
    assert digest(workers=3, films_per_shard=7) == same
    assert digest(phantom=phantom | {"noise": 0.03}) != same
    assert digest(image_size=128) != same
    assert digest(seed=None) == same
    assert digest(seed=0) != same  # the films of one seed, whatever the seed of the rest
    neutral = {"boilerplate": "usual", "near_copies": 0.0, "normal_share": 0.0}
    assert digest(phantom=phantom | neutral) == same
    for said in ({"boilerplate": "more"}, {"near_copies": 0.1}, {"normal_share": 0.1}):
        assert digest(phantom=phantom | said) != same


def test_a_key_that_is_new_moves_the_corpus_only_where_it_says_something(values: Values) -> None:
    class Newer(Ingest):
        sharpened: bool = False
        rotated: float | None
        mirrored: Annotated[str, Neutral("never")]

    new = values["ingest"] | {"rotated": None, "mirrored": "never"}
    old = Ingest.model_validate(values["ingest"]).digest()
    assert Newer.model_validate(new).digest() == old
    for said in ({"sharpened": True}, {"rotated": 2.0}, {"mirrored": "often"}):
        assert Newer.model_validate(new | said).digest() != old


def test_a_key_that_is_new_moves_no_row_unless_it_says_something(values: Values) -> None:
    class NewerTraining(Training):
        baseline: Annotated[str, Neutral("mean")]

    class Newer(RowSections):
        training: NewerTraining

    def digests(given: Values, schema: type[RowSections]) -> dict[str, str]:
        sections = schema.model_validate({name: given[name] for name in schema.model_fields})
        return {arm: row_digest(sections, arm, METRIC) for arm in given["arms"]}

    before = digests(values, RowSections)
    neutral, told = (
        digests(values | {"training": values["training"] | {"baseline": baseline}}, Newer)
        for baseline in ("mean", "median")
    )
    assert neutral == before
    assert {arm for arm, digest in told.items() if digest != before[arm]} == {*TRAINED}


ROWS_OF_KEYS = [
    # of one arm
    ("arms.grpo.training", {"steps": 240}, {"grpo"}),
    ("arms.grpo.training", {"steps": 60, "epochs": None}, set()),  # what `training` says already
    ("arms.orapo.oracle.momentum", 0.6, {"orapo"}),
    ("arms.deer.credit.gradient.beta", 2.0, {"deer"}),
    ("arms.grpo.reward.ce_f1.weight", 1, set()),
    # of the trainings
    ("training.steps", 240, {*TRAINED}),
    ("training.kl", 0.05, {*TRAINED}),
    ("training.learning_rate", 1.0, {*TRAINED} - {"orapo", "mrg_r1"}),  # these two have their own
    ("training.checkpoint_every", 30, set()),
    ("training.watch", None, set()),
    ("training.watch.keep", "best", {*TRAINED}),  # then looks decide which weights are handed on
    ("training.watch.patience", 30, {*TRAINED}),
    ("training.watch.films", 40, set()),
    ("training.lora.rank", 7, set()),  # mrg_r1 has its own
    # of the start; deer's films are chosen by what the cold start writes
    ("sft.epochs", 9, {*TRAINED, "sft", "tower_probe"} - {"orapo", "mrg_r1"}),
    ("policy.path", "elsewhere", {*TRAINED, "base", "sft", "tower_probe", "tower_probe_base"}),
    ("policy.pretrain.epochs", 9, set()),  # the shipped policy is not made here
    # of the films
    ("selection.balanced.studies", 9, {"orapo", "facts_after_sft"}),
    ("selection.ddsampling.share", 0.3, {"deer", "deer_oracle"}),
    ("selection.random.share", 0.3, set()),
    ("rollouts.samples", 5, {"deer", "deer_oracle"}),
    # of the prompts
    ("prompts.think_report", "Think.", {"mrg_r1"}),
    # of the reports and who reads them
    ("generate.max_new_tokens", 64, {"base", "sft", *TRAINED}),
    ("generate.batch_size", 8, set()),
    ("labeler.compact.hidden", 64, {"ditpo_grad", "deer", "deer_oracle"}),  # whose credit it is
    ("labeler.chexbert", "elsewhere", set()),
    ("eval.nlg.preparation", "whitespace", set()),
    # of who reads labels off films
    ("ceilings.network.epochs", 7, {"label_network"}),
    ("ceilings.probe.films", 70, {"tower_probe", "tower_probe_base"}),
    # what moves a row as another seed does, and the page
    ("seed", 1, set()),
    ("threads", 2, set()),
    ("compare.examples", 1, set()),
]


@pytest.mark.parametrize(("key", "value", "rows"), ROWS_OF_KEYS)
def test_a_key_moves_the_rows_that_it_decides(values: Values, key: str, value: Any, rows: set[str]) -> None:
    changed = put(values, key, value)
    if key != "arms.grpo.training":
        validate(changed)
    assert moved(values, changed) == rows


def test_a_reader_of_labels_moves_all_rows_of_its_metrics(values: Values) -> None:
    every = {*values["arms"], "nearest_training_film", "label_network", "tower_probe", "tower_probe_base"}
    other = put(values, "labeler.rules.other_findings", False)
    assert moved(values, other) == every
    # the compact labeler learns from what the rules read; BLEU reads no labels, but clinical rewards do
    assert moved(values, other, "ce_chexbert_compact_sample14_f1") == every
    assert moved(values, other, "nlg_bleu4") == {*TRAINED}
    compact = put(values, "labeler.compact.hidden", 64)
    assert moved(values, compact, "ce_chexbert_compact_sample14_f1") == every
    wording = put(values, "eval.nlg.preparation", "whitespace")
    assert moved(values, wording, "nlg_bleu4") == every
    assert moved(values, put(values, "eval.nlg.meteor", False), "nlg_bleu4") == set()


def test_how_references_are_cleaned_moves_every_row(values: Values) -> None:
    every = {*values["arms"], "nearest_training_film", "label_network", "tower_probe", "tower_probe_base"}
    assert moved(values, put(values, "eval.cleaning", "r2gen_iu")) == every
    # where nothing is cleaned or cut both forms are one text
    assert moved(values, put(values, "eval.labels_of", "cleaned")) == set()
    cut = put(values, "eval.max_report_words", 60)
    assert moved(values, cut) == every
    assert moved(cut, put(cut, "eval.labels_of", "cleaned")) == every


def test_the_laptop_policy_that_is_made_here_decides_what_starts_from_it(values: Values) -> None:
    own = put(values, "policy.path", None)
    starts = {*TRAINED, "base", "sft", "tower_probe", "tower_probe_base"}
    assert moved(own, put(own, "policy.pretrain.epochs", 9)) == starts

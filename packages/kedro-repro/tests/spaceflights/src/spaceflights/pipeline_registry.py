"""The pipelines by name; the one of models once under the name of each."""

from pathlib import Path

import yaml
from kedro.pipeline import Pipeline, pipeline

from spaceflights.pipelines import data_processing, data_science

PARAMS = Path(__file__).parents[2] / "params.yaml"


def register_pipelines() -> dict[str, Pipeline]:
    """By name, as `kedro run --pipelines` asks for them."""
    models = yaml.safe_load(PARAMS.read_text())["models"]
    own = sum((_under(name) for name in models), Pipeline([]))
    made = {"data_processing": data_processing.create_pipeline(), "data_science": own}
    return made | {"__default__": sum(made.values(), Pipeline([]))}


def _under(name: str) -> Pipeline:
    return pipeline(
        data_science.create_pipeline(),
        namespace=name,
        inputs={"model_input_table"},
        parameters={"params:model": f"params:models.{name}", "params:test_share": "params:test_share"},
    )

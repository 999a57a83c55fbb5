"""Wiring of the stage own_selection."""

from functools import partial, update_wrapper

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.own_selection.nodes import choose_films


def create_pipeline(name: str) -> Pipeline:
    """Corpus, labels -> the subset by one selection of one's own.

    Args:
        name: what the selection goes by.
    """
    chosen = update_wrapper(partial(choose_films, name=name), choose_films)
    inputs = {
        "corpus": "corpus",
        "labels": "labels",
        "settings": "params:own_selection",
        "seed": "params:seed",
    }
    return pipeline([node(chosen, inputs, "subset", name="choose_films")])

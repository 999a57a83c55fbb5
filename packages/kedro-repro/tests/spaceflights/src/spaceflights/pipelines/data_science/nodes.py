"""A model is a list of numbers: one for each feature, then the offset."""

from importlib import import_module

import pandas as pd


def split(table: pd.DataFrame, test_share: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last rows are held out."""
    held_out = round(len(table) * test_share)
    return table.iloc[:-held_out], table.iloc[-held_out:]


def train(known: pd.DataFrame, model: dict) -> list[float]:
    """By the estimator that params.yaml names."""
    module, _, name = model["estimator"].partition(":")
    return getattr(import_module(module), name)(known[model["features"]], known["price"])


def evaluate(regressor: list[float], held_out: pd.DataFrame, model: dict) -> dict[str, float]:
    """The mean absolute error."""
    *slopes, offset = regressor
    told = (held_out[model["features"]] * slopes).sum(axis=1) + offset
    return {"error": float((told - held_out["price"]).abs().mean())}

"""Tables joined by their keys."""

import pandas as pd


def join(companies: pd.DataFrame, shuttles: pd.DataFrame, reviews: pd.DataFrame) -> pd.DataFrame:
    """A row a shuttle, with its company's rating and its reviews' score."""
    found = shuttles.merge(reviews, left_on="id", right_on="shuttle")
    return found.merge(companies, left_on="company", right_on="id", suffixes=("", "_company"))

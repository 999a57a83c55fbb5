"""Kedro's settings: the defaults."""

"""Scorers by rules: a report read into findings, its graph in RadGraph's schema, GREEN's error counts."""

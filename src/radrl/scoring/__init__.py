"""Scorers that need a tool or a model."""

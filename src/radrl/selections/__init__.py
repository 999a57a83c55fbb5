"""Selections: which training films an arm sees."""

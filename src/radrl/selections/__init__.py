"""Selections: which training films an arm sees.

Lives here: one selection a module, from a table of films to sample_ids. Its equation is in `algorithms`.
"""

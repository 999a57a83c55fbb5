"""Metrics and statistics as pure functions: what a report is worth, and what a difference is worth.

Lives here: metrics over labels and texts that are given, intervals, tests, tables of arms. No model and no
framework.
"""

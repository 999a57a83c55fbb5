"""Metrics and statistics as pure functions: what a report is worth, and what a difference is worth."""

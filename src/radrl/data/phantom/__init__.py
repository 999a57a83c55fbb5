"""Drawn chest films with reports: what a patient has, how it looks, how it is worded."""

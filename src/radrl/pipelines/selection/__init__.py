"""Subsets of the training films that need no policy: full, random, label-balanced."""

"""Artifacts on disk: digests, pointers to weights, folders that outlive a kill, one writer at a time."""

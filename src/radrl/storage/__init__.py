"""Artifacts on disk: digests, pointers to weights, folders that outlive a kill, one writer at a time.

Lives here: digests, pointers, workspaces and locks: what makes an artifact sure, whatever it holds.
"""

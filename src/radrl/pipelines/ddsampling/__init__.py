"""Diversity of rollouts and the subset drawn by it (DEER)."""

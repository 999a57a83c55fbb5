"""Diversity of rollouts, the subset drawn by it (DEER), and the most diverse without a draw."""

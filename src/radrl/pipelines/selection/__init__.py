"""Diversity, ranks and the subsets arms train on."""

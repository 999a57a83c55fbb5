"""Studies: sources, checks, films, splits, the corpus."""

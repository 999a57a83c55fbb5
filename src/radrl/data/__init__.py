"""Studies: sources, checks, films, splits, the corpus.

Lives here: what turns a source's files into the corpus: readers of data sets (`sources`), drawn films
(`phantom`), checks, splits, quarantine, shards. Sources judge nothing, checks are the same for all.
"""

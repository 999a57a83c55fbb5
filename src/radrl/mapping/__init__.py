"""Work in ordered shards, done by this process, several of the machine, or Ray's actors: the same results."""

"""Work on a corpus in ordered shards, shared by processes of this machine or Ray's actors: same results, in order."""

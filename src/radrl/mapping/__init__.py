"""Work in ordered shards, done by this process, several of the machine, or Ray's actors: the same results.

Lives here: engines that share out a function of a worker's state and a shard, and hold its results in order,
whoever dies meanwhile. What a shard is, and what is done to it, stands with those who have the work.
"""

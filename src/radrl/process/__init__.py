"""A process on its machine: no network, threads and memory, other programs, the terminal."""

"""A process on its machine: no network, threads and memory, other programs, the terminal.

Lives here: what a process does to the machine it runs on, whatever it computes: switches against the network,
threads, memory, programs it starts, tables on a terminal.
"""

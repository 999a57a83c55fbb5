"""A process on its machine: no network, threads, memory and devices, other programs, the terminal.

Lives here: what a process does to the machine it runs on, whatever it computes: switches against the network,
threads, memory, the device that models compute on, which of several processes this is, programs it starts,
what a server lets in, tables on a terminal.
"""

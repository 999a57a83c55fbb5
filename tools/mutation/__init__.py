"""Mutants of the core: one small change of one line at a time, to see whether a test notices.

One job a module: `operators` says what a line may become, `sites` finds and draws mutants, `recorder` which
test runs which line, `forks` runs tests on one mutant, `run` all of a room, `ledger` keeps what came out,
`explained` the survivors that have a reason, `page` writes. `rooms.toml` names the rooms and their tests.

Not mutmut 3: it leaves out what has a decorator and what stands outside functions, draws no sample, and wants
the whole suite run once. Not Cosmic Ray: it starts pytest once a mutant, which imports torch each time.
"""

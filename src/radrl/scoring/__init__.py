"""Scorers that need a tool or a model.

Lives here: what scores pairs of reports and needs more than arithmetic: a Java program, a package in an
environment of its own, a judge, rules that read a report. What can be computed from labels alone is in
`evaluation`.
"""

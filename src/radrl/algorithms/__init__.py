"""The papers' equations as pure functions: numbers in, numbers out.

Lives here: one equation of a paper a module, as a pure function with its number in the docstring, and its
line in docs/paper_index.md. No framework, no files, no settings.
"""

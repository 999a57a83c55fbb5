"""Parts: what params.yaml can exchange, built in, offered by an installed package or named by import path.

Lives here: the table of built-in parts, the contract of each kind, and how one is found by its name; no part
itself. A part's module is imported when it is named.
"""

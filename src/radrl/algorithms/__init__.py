"""The papers' equations as pure functions: numbers in, numbers out."""

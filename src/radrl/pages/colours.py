"""Colours of figures.

Text and axes have a grey that can be read on white paper and, in a page's inline SVG, on a dark screen.
"""

from typing import Final

INK: Final = "#6e7781"
PALE: Final = "#8b949e"
"""Of what stands beside a study's own results: papers' figures, and rows that need no model."""
LINES: Final = (
    "#2f81f7", "#d9822b", "#2da44e", "#bf4b8a", "#8250df",
    "#1b9e9e", "#b08800", "#cf222e", "#8d5b3a", "#7cb518",
)  # fmt: skip

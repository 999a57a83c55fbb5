"""Colours of figures.

Text and axes have a grey that can be read on white paper and, in a page's inline SVG, on a dark screen.
Lines have Okabe and Ito's colours (Color Universal Design, 2008) but for the yellow, too pale on white:
simulated for deuteranopia, any two of them stay further apart than `APART_BY`, which a test measures.
Beyond seven lines, and for who sees no colour at all, dash and marker differ too
(`radrl.pages.figures.style`).
"""

from typing import Final

INK: Final = "#6e7781"
PALE: Final = "#8b949e"
"""Of what stands beside a study's own results: papers' figures, and rows that need no model."""
BLACK: Final = "#000000"
"""In a page the colour of its text, so that a line of it is seen on a dark screen."""
APART: Final = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", BLACK)
APART_BY: Final = 15.0
"""Least distance in CIELAB (1976) between two colours as a deuteranope sees them; 2.3 is just noticed."""

"""Scripts that an engine's interpreter runs: they import nothing of radrl, and radrl imports none of them."""

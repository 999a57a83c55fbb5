"""Scripts that other interpreters run: they import nothing of radrl, and radrl imports none of them."""

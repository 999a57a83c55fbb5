"""Who reads the 14 observations out of a report."""

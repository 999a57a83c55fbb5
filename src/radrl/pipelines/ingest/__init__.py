"""Source to corpus and quarantine."""

"""A laboratory's own parts for radrl."""

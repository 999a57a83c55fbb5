"""The cold start."""

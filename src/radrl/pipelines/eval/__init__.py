"""One arm's scores."""

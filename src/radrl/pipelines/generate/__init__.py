"""One arm's reports."""

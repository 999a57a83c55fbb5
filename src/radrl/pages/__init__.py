"""What the pages and figures of several stages have in common."""

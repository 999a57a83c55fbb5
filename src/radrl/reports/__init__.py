"""Report text, pure."""

"""The table of arms."""

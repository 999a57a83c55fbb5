"""Who writes reports: one interface and the engines behind it."""

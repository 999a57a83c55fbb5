"""Reference reports to 14 labels a film."""

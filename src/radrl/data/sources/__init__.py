"""Where studies come from; a source reads and never judges."""

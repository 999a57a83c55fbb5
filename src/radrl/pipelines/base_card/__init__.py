"""What the laptop's base policy reads and how it speaks, measured and written down beside its weights."""

"""The compact CheXbert: its texts, its optimizer, its training."""

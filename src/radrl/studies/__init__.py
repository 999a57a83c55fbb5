"""Studies: arms over seeds and variations of a recipe, run by DVC in clones, side by side in a table."""

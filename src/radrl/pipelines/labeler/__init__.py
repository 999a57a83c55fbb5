"""The labelers: the compact CheXbert trained, the published one checked, and how far they agree."""

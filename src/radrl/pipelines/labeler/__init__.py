"""The labeler and how far it agrees with what is known apart from the texts."""

"""A subset by a selection of one's own (`selection.own`)."""

"""Packages that cannot live in radrl's environment: scripts that another interpreter runs, and the talk with them."""

"""Packages that cannot live in radrl's environment: scripts for another interpreter, and the talk to them."""

"""FactS: a report's atomic facts, and what they say of each of the 14 observations (OraPO, section 3.3)."""

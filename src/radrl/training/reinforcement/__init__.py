"""Learning from rewards: group-relative policy optimisation with credit and oracle."""

"""One arm's reinforcement learning."""

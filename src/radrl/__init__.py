"""radrl: reinforcement learning for chest X-ray report generation as one reproducible pipeline."""

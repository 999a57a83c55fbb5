"""Learning from reference reports: the base policy's pretraining and the cold start."""

"""Language models that answer prompts about reports, wherever they run."""

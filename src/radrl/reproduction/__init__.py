"""`dvc repro` with several stages at once: DVC runs each, this decides which may run when."""

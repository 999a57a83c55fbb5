"""What `radrl doctor` looks at: this machine, its packages and programs, what a recipe names, the record.

Nothing is loaded or sent; weights are hashed, an MLflow server is asked whether it is there.
"""

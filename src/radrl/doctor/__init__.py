"""What `radrl doctor` looks at: this machine, its packages and programs, what a recipe names, the record.

Lives here: what is there, what is not, what that costs, and the mend. Nothing is loaded, and nothing is sent
but a question to the MLflow server that the configuration names.
"""

"""The record in MLflow: a run for each stage and namespace, closed whatever happens."""

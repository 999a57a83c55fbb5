"""What binds the pipelines to Kedro, DVC and MLflow: hooks, the record, models, what reproduction is told.

Lives here: Kedro's hooks, the MLflow record with its pages and models, what stages cost, and what the plugin
kedro-repro is told of radrl. Nothing below imports it.
"""

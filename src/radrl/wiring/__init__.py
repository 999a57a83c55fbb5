"""What binds the pipelines to Kedro, DVC and MLflow: hooks, record, dataset types, errors.

Lives here: Kedro's hooks, the MLflow record, dataset types of the catalog, and how errors reach a terminal.
Nothing below imports it.
"""

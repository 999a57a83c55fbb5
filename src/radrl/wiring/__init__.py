"""What binds the pipelines to Kedro, DVC and MLflow: hooks, record, dataset types, errors."""

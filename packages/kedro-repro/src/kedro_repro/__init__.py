"""`dvc repro` for Kedro projects: stages from pipelines, several at once, each recorded as what it ran with.

Lives here: what writes dvc.yaml from Kedro's pipelines, digests what code does, decides which stages run and
which may run side by side, and holds what DVC records against what ran. It starts DVC as a program. Nothing
here knows what a project computes; what is particular to one stands in its pyproject.toml, or in a class of
its own that is named there (`kedro_repro.project`).
"""

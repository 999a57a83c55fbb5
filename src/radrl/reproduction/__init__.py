"""`dvc repro` with several stages at once: DVC runs each, this decides which may run when.

Lives here: what decides which stages run and which may run side by side. It starts DVC as a program and
imports neither DVC nor Kedro.
"""

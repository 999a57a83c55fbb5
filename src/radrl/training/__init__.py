"""Glue between the pure equations and the trainers of transformers and TRL.

Lives here: overrides of trl's and transformers' trainers, as few as can be, and their callbacks. Equations
are in `algorithms`; neither Kedro nor MLflow is known here.
"""

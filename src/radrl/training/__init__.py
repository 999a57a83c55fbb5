"""Glue between the pure equations and the trainers of transformers and TRL."""

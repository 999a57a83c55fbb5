"""A model of the price, and how far it errs."""

from .pipeline import create_pipeline

__all__ = ["create_pipeline"]

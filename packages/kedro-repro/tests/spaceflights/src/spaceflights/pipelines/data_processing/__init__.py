"""Companies, shuttles and reviews become one table."""

from .pipeline import create_pipeline

__all__ = ["create_pipeline"]

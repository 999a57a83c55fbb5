"""The project's pipelines: a folder each, and a stage of DVC each."""

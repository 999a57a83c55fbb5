"""The sections of `ingest` that name a source, one module each."""

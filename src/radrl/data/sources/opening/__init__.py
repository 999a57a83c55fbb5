"""The sources that `ingest` names, one module each: its section, and how it is opened as that says."""

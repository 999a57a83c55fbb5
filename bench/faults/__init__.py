"""What goes wrong while stages run: kills (`kills`), and edits of params.yaml and of code (`edits`)."""

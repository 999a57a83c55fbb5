"""Parts: what params.yaml can exchange, built in, offered by an installed package or named by import path."""

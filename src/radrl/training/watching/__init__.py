"""Looking on while a policy learns: films that are watched, and what a history says is going wrong."""

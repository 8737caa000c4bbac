"""Pictures of a table: its columns, what is missing, what goes together."""

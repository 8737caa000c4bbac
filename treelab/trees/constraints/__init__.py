"""What a tree must keep: as it is asked for, and whether a finished tree keeps it."""

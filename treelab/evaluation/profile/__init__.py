"""What a table holds, before anything is trained: the figures of its profile."""

"""GRANDE: an ensemble of hard trees whose weights depend on the row."""

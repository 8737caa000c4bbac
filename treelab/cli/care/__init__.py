"""The commands that look after a data folder."""

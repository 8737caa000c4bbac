"""From a file that a person brought to a table."""

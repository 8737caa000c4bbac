"""Files that are no delimited text: a module for each kind."""

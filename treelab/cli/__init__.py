"""The command line, a file for a command or those of a kind."""

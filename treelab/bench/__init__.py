"""The papers' tables and the speed measurements, from the command line."""

COMMANDS = ()  # functions that add a subcommand to ``python -m treelab bench``

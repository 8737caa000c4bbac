"""The papers' tables and the speed measurements, from the command line."""

from treelab.bench import command as shell

COMMANDS = shell.COMMANDS  # functions that add a subcommand to ``treelab bench``

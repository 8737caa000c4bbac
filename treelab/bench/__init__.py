"""The papers' tables and the speed measurements, from the command line."""

from treelab.bench.command import COMMANDS

__all__ = ["COMMANDS"]

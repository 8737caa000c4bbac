"""``treelab completion``: the script by which a shell completes commands."""

import argparse
from argparse import Namespace

from treelab.cli.arguments import command

SHELLS = ("bash", "zsh")
_FILES = ("TABLE", "FILE", "FILE.zip", "DIR")  # what such an argument names


@command(
    "completion",
    "write the script by which a shell completes commands",
    """
    Writes a script for the command treelab, which pip install makes. Save it where
    the shell looks for completions, or source it.

    shell
    """,
    shell={"choices": SHELLS},
)
def completion(arguments: Namespace) -> None:
    """Print the script."""
    import shtab

    parser = arguments.build_parser("treelab")
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=arguments.shell))


def _complete_files(parser: argparse.ArgumentParser, how: dict) -> None:
    """Let the arguments that name a file be completed by those there are."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for own in action.choices.values():
                _complete_files(own, how)
        elif action.metavar in _FILES:
            action.complete = how  # type: ignore[attr-defined]

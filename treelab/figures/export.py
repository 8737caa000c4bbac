"""Pictures as files, through Graphviz's ``dot`` where it is installed."""

import shutil

import graphviz


def has_dot() -> bool:
    """Whether Graphviz's program ``dot`` is found on this machine."""
    return shutil.which("dot") is not None


def picture_file(dot_text: str, kind: str) -> bytes:
    """Render DOT text into a file.

    Parameters
    ----------
    dot_text : str
    kind : {"svg", "pdf", "png"}

    Raises
    ------
    graphviz.ExecutableNotFound
        If ``dot`` is not installed; check ``has_dot`` first.
    """
    return graphviz.Source(dot_text).pipe(format=kind)

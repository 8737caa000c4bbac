"""A tree as a notebook shows it: the interactive viewer in a frame of its own."""

import html

from treelab.figures.viewer.page import viewer_page
from treelab.figures.viewer.payload import tree_payload
from treelab.trees.text.rules import to_text
from treelab.trees.tree import Tree

_HEIGHT = 860  # pixels: the picture, its title and what is folded away


def notebook_html(tree: Tree) -> str:
    """Return HTML that shows a tree in a cell's output, whatever else is there.

    The frame runs the viewer's script and has no access to the notebook.
    """
    page = viewer_page(tree_payload(tree), text=to_text(tree))
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts '
        f'allow-downloads" title="Decision tree that predicts '
        f'{html.escape(tree.target, quote=True)}" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )

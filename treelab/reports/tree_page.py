"""A trained tree as one HTML file, with its training rows where they are at hand."""

from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.style.colors import class_colors
from treelab.figures.viewer.page import viewer_page
from treelab.figures.viewer.payload import tree_payload
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.text.numerals import counted, significant
from treelab.trees.text.rules import to_text
from treelab.trees.tree import Tree


def html_page(tree: Tree, store: RunStore | None = None, run: Run | None = None) -> str:
    """Return the page of one tree.

    Parameters
    ----------
    tree : Tree
    store : RunStore or None, default=None
        Where the run's table is kept.
    run : Run or None, default=None
        The run that trained it: its training rows make the histograms, and its score
        is told. None: the tree's own counts alone.

    Raises
    ------
    LookupError
        If the run's table is gone.
    """
    if store is None or run is None:
        return viewer_page(tree_payload(tree), text=to_text(tree))
    split = run.problem.split(store.table(run.problem.table_id))
    colors = None
    if tree.classes is not None:
        seen = split.y_train.value_counts()
        ranked = sorted(tree.classes, key=lambda label: -seen.get(label, 0))
        colors = dict(zip(ranked, class_colors(len(ranked))))
    payload = tree_payload(
        tree, split.X_train, split.y_train, title=run.title, colors=colors
    )
    return viewer_page(payload, text=to_text(tree), captions=_captions(run))


def _captions(run: Run) -> list[str]:
    """Say the run's score, and on which rows it was measured."""
    name = headline(run.problem.task)
    found = run.metrics.get("test", {})
    if name not in found:
        return []
    n_rows = int(found["n_rows"])
    score = (
        f"{TITLES[name]} {significant(found[name])} on {counted(n_rows, 'test row')}"
    )
    return [f"{score}. Rows and bars in the picture: training rows."]

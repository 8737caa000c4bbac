"""A trained tree as one HTML file, with its training rows where they are at hand."""

from treelab.evaluation.metrics import TITLES, headline
from treelab.figures.viewer.page import viewer_page
from treelab.figures.viewer.payload import ROWS_LABELS, tree_payload
from treelab.runs.jobs.model_facts import without_origin
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
        Holds the run's table.
    run : Run or None, default=None
        The run that trained it: its training rows make the histograms, and its score
        is in the caption. None: the tree's own counts alone.

    Returns
    -------
    str
        HTML that needs no other file.

    Raises
    ------
    LookupError
        If the run's table is gone.
    """
    if store is None or run is None:
        return viewer_page(tree_payload(tree), text=to_text(tree))
    split = run.problem.split(store.table(run.problem.table_id))
    shown = without_origin(tree, run.origin)  # said in the captions
    rows = split.rows(run.fitted_split)
    payload = tree_payload(shown, *rows, split=run.fitted_split, title=run.title)
    return viewer_page(payload, text=to_text(tree), captions=_captions(run))


def _captions(run: Run) -> list[str]:
    """Return the run's score with its rows, and how the tree came about."""
    name = headline(run.problem.task)
    measured = run.metrics.get("test", {})
    origin = [] if run.origin is None else [str(run.origin)]
    if run.follows_paper:
        origin.insert(0, "Trained by the paper's recipe.")
    if name not in measured:
        return origin
    n_rows = int(measured["n_rows"])
    score = (
        f"{TITLES[name]} {significant(measured[name])} on {counted(n_rows, 'test row')}"
    )
    rows = ROWS_LABELS[run.fitted_split]
    return [f"{score}. Rows and bars in the picture: {rows}.", *origin]

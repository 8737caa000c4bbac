"""A trained tree as one HTML file, with its training rows where they are at hand."""

from treelab.evaluation.metrics import TITLES, headline_score
from treelab.figures.viewer.page import viewer_page
from treelab.figures.viewer.payload import ROWS_LABELS, tree_payload
from treelab.runs.jobs.fit import without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import Model
from treelab.trees.text import to_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, significant


def html_page(
    tree: Tree,
    store: RunStore | None = None,
    run: Run | None = None,
    estimator: int | None = None,
) -> str:
    """Return the HTML page of one tree, which needs no other file.

    The run that trained it has its table and model in the store: its training rows make
    the histograms, and the captions name what predicts, with its score. Without it the
    tree's own counts stand alone. ``estimator`` is which tree of an ensemble it is.
    LookupError if the run's table is gone.
    """
    if store is None or run is None:
        return viewer_page(tree_payload(tree), text=to_text(tree))
    split = run.problem.split(store.table(run.problem.table_id))
    model = store.model(run.id) if run.has_model else tree
    title = run.title
    if isinstance(model, WeightedTrees) and estimator is not None:
        title += f", tree {estimator} of {model.n_estimators:,}"
    shown = without_origin(tree, run.provenance)  # said in the captions
    rows = split.rows(run.fitted_split)
    payload = tree_payload(shown, *rows, split=run.fitted_split, title=title)
    captions = _captions(tree, model, run, split.rows("test"))
    return viewer_page(payload, text=to_text(tree), captions=captions)


def _captions(tree: Tree, model: Model, run: Run, test_rows: tuple) -> list[str]:
    """Return what predicts and how well, and how the tree came about."""
    name = run.headline
    measured = run.metrics.get("test", {})
    origin = [run.provenance] if run.provenance else []
    if run.follows_paper:
        origin.insert(0, "Trained by the paper's recipe.")
    what, alone = "", ""
    if isinstance(model, WeightedTrees):
        n_trees = counted(model.n_estimators, "tree")
        what = f"The ensemble of {n_trees} predicts, not this one tree"
        alone = "this tree alone"
    elif model.has_predictor:
        what = "A predictor on top of this tree makes the predictions"
        alone = "the leaves of the tree alone"
    if name not in measured:
        return [f"{what}.", *origin] if what else origin
    rows = counted(int(measured["n_rows"]), "test row")
    score = f"{TITLES[name]} {significant(measured[name])} on {rows}"
    if what:
        X, y, weight = test_rows
        own = headline_score(run.problem.task, y, tree.predict(X), weight, run.loss)
        score = f"{what}: {score}; {alone}: {significant(own)}"
    shown = ROWS_LABELS[run.fitted_split]
    return [f"{score}. Rows and bars in the picture: {shown}.", *origin]

"""A run store filled with models made by hand, so that no test of a page trains."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.problem import make_problem, weighted_problem
from treelab.data.split import JOINED
from treelab.evaluation.metrics import split_scores
from treelab.learners.common.origin import Origin, with_origin
from treelab.runs.jobs.fit import fitted_split, model_size, with_names
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.training.events import Progress
from treelab.trees.cells import HOURS, CellForm, note_forms
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning import SizePath, cost_complexity_path
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree

COLORS = ("amber", "blue", "<b>red</b>")
KINDS = ("rough", "fine", "small")


def table(n_rows: int = 240, *, seed: int = 0) -> pd.DataFrame:
    """Radius, texture (with gaps), colour, and what follows from them."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0, 40, n_rows).round(1)
    texture = rng.uniform(0, 10, n_rows).round(1)
    color = rng.choice(COLORS, n_rows)
    kind = np.where(radius <= 10, KINDS[2], np.where(texture <= 6, *KINDS[:2]))
    weight = 2 + 0.2 * radius + (color == "blue") + rng.normal(0, 0.3, n_rows)
    frame = pd.DataFrame(
        {
            "radius": radius,
            "texture $x$": texture,
            "colour": color,
            "kind": kind,
            "ripe": radius > 20,
            "weight": weight.round(2),
        }
    )
    frame.loc[::20, "texture $x$"] = np.nan
    return frame


FEATURES = (
    Feature("radius", unit="mm", fill=20.0),
    Feature("texture $x$", fill=5.0),
    Feature(
        "colour", "category", categories=COLORS, scores=(0.1, 0.9, 0.2), unseen=0.4
    ),
)


def one_hot(codes, n: int, sure: float = 0.9) -> np.ndarray:
    """Class shares of leaves that are ``sure`` of one class each."""
    rest = (1 - sure) / max(n - 1, 1)
    return np.where(np.arange(n) == np.asarray(codes)[:, None], sure, rest)


def single_tree(classes, target: str, split, fitted: str = "train") -> Tree:
    """A tree of depth 2 on radius, colour and texture; leaves say their rows' mean."""
    X, y, weight = split.rows(fitted)
    tree = Tree.complete(
        FEATURES,
        np.array([0, 2, 1]),
        np.array([10.05, 0.5, 6.05]),
        np.array([True, False, True]),
        np.zeros((4, 1 if classes is None else len(classes))),
        classes=classes,
        target=target,
    ).with_rows(X, y, weight)
    return _with_means(tree, X, y)


def _with_means(tree: Tree, X, y) -> Tree:
    """The tree whose leaves say the mean of these rows."""
    value = tree.value.copy()
    leaf_of_row, truth, classes = tree.apply(X), y.to_numpy(), tree.classes
    for leaf in np.flatnonzero(tree.is_leaf):
        here = truth[leaf_of_row == leaf]
        if classes is None:
            value[leaf] = here.mean()
        else:
            value[leaf] = [np.mean(here == label) for label in classes]
    return replace(tree, value=value)


def joined_tree(classes, target: str, split) -> Tree:
    """The same tree fitted to the validation rows as well."""
    return single_tree(classes, target, split, JOINED)


def oblique_tree(classes, target: str, split) -> Tree:
    """A tree of depth 2 on sums of radius and texture; leaves say their rows' mean."""
    weights = np.array([[1.0, 0.5, 0], [1, -1, 0], [0.2, 1, 0]])
    threshold, goes_left = np.array([14.0, 3, 8]), np.zeros(3, bool)
    n_outputs = 1 if classes is None else len(classes)
    leaf = np.full((4, n_outputs), 1 / n_outputs)
    names = {"classes": classes, "target": target}
    tree = Tree.complete(
        FEATURES, None, threshold, goes_left, leaf, weights=weights, **names
    )
    return _with_means(tree.with_rows(*split.rows("train")), *split.rows("train")[:2])


def ensemble(classes, target: str, split, n_estimators: int = 24) -> WeightedTrees:
    """Trees of depth 2 with random splits and leaf weights."""
    rng = np.random.default_rng(1)
    feature = rng.integers(len(FEATURES), size=(n_estimators, 3))
    low, high = np.array([2, 1, 0.15])[feature], np.array([38, 9, 0.8])[feature]
    n_outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    return WeightedTrees(
        FEATURES,
        feature,
        rng.uniform(low, high),
        rng.random((n_estimators, 3)) < 0.5,
        rng.normal(5 if classes is None else 0, 2, (n_estimators, 4, n_outputs)),
        rng.normal(0, 1.5, (n_estimators, 4)),
        classes=classes,
        target=target,
    ).with_rows(split.X_train)


def pruning_path(classes, target: str, split) -> PruningPath:
    """Three oblique trees with a linear predictor on top, the last one a stump."""
    n_outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    trees, predictors = [], []
    for i, depth in enumerate((2, 2, 1)):
        n_splits = 2**depth - 1
        weights = np.zeros((n_splits, 3))
        weights[:, 0], weights[:, 1] = 1.0, np.linspace(0, 1, n_splits)
        leaf = np.full((n_splits + 1, 1), 5.0) if classes is None else None
        if classes is not None:
            leaf = one_hot(np.arange(n_splits + 1) % len(classes), len(classes))
        activity = np.full(2 * n_splits + 1, 1.0 - 0.3 * i)
        tree = Tree.complete(
            FEATURES,
            None,
            np.linspace(15 + i, 30, n_splits),
            np.zeros(n_splits, bool),
            leaf,
            weights=weights,
            classes=classes,
            target=target,
            activity=activity,
        ).with_rows(split.X_train, split.y_train)
        rng = np.random.default_rng(i)
        layer = (rng.normal(size=(n_outputs, tree.n_nodes)), np.zeros(n_outputs))
        trees.append(tree)
        predictors.append(NodePredictor((layer,)))
    path = PruningPath(np.array([0.0, 1.0, 100.0]), trees, predictors, chosen=1)
    table = pd.DataFrame(
        {
            "strength": path.strengths,
            "valid_loss": [0.5, 0.5, 0.9],
            "valid_score": [0.8, 0.795, 0.6],
            "active_splits": [tree.n_splits for tree in trees],
            "empty_nodes": [0, 0, 4],
            "leaves": [tree.n_leaves for tree in trees],
        }
    )
    return replace(path, scores=table)


def _noted(model, origin: Origin):
    """The model with its origin as first note; of a path, each tree."""
    if isinstance(model, PruningPath):
        trees = tuple(with_origin(tree, origin) for tree in model.trees)
        return replace(model, trees=trees)
    return with_origin(model, origin)


def size_path(tree: Tree) -> SizePath:
    """A tree's cost-complexity prunings by size, with scores made up."""
    trees = [*cost_complexity_path(tree)][::-1]
    scores = pd.DataFrame(
        {
            "n_leaves": [each.n_leaves for each in trees],
            "score": np.linspace(0.5, 0.9, len(trees)),
            "standard_error": 0.02,
        }
    )
    return SizePath(trees, scores, chosen=len(trees) - 1)


MAKERS = {
    "cart": single_tree,
    "gradtree": joined_tree,
    "get": oblique_tree,
    "optimal": single_tree,
    "grande": ensemble,
    "argmin": pruning_path,
}


def add_run(store: RunStore, learner: str, target: str = "kind", **options) -> str:
    """Add a finished run of a hand-made model; return its id.

    ``state="running"`` leaves it in the middle of training, with a snapshot where it
    is a single tree; ``seed`` deals the rows, to ``n_folds`` if that is given;
    ``split`` holds what of the problem says how; ``title`` names it; ``settings`` are
    the learner's; ``origin`` is how it came about;
    ``sizes`` gives it a path by size; ``repeat_of`` is the run that it repeats;
    ``weight`` and ``exposure`` are columns, maybe of the ``more`` that the table has;
    ``loss`` is that of a regressor.
    """
    frame = table().assign(**options.get("more", {}))
    table_id = store.add_table(frame, f"fruit, {target}")
    of_model = {name: each for name, each in options.items() if name in OF_THE_MODEL}
    asked = (MAKERS[learner], target, table_id, pickle.dumps(of_model))
    if asked not in _MADE:
        _MADE[asked] = _made(MAKERS[learner], target, frame, table_id, options)
    problem, model, found, summary = _MADE[asked]
    run_id = store.create(
        learner,
        options.get("settings", {}),
        problem,
        title=options.get("title", ""),
        repeat_of=options.get("repeat_of", ""),
    )
    store.start(run_id, ProcessId.here())
    if options.get("state", "done") == "running":
        if isinstance(model, Tree):
            store.add_snapshot(run_id, 7, model)
        return run_id
    store.add_model(run_id, model)
    if options.get("sizes"):
        store.add_path(run_id, size_path(model))
    store.finish(run_id, options.get("state", "done"), metrics=found, summary=summary)
    return run_id


def add_run_of_times(store, monkeypatch) -> str:
    """Add a run of one split, of a column that holds times of day; return its id."""
    frame = table().assign(radius=np.arange(240) / 10)  # a row each six minutes
    form = CellForm(unit=HOURS, times="h:mm", example="0:00")
    note_forms(frame, {"radius": form})
    monkeypatch.setitem(globals(), "table", lambda: frame)
    when = Feature("radius", unit=HOURS, form=form)

    def stump(classes, target, split):
        names = {"classes": classes, "target": target}
        value = [[0.9, 0.1], [0.1, 0.9]]
        tree = Tree.complete((when,), [0], [12.05], [True], value, **names)
        return tree.with_rows(*split.rows("train")[:2])

    monkeypatch.setitem(MAKERS, "cart", stump)
    return add_run(store, "cart", "ripe", columns=["radius"])


OF_THE_MODEL = (
    *("columns", "seed", "n_folds", "split", "weight", "exposure"),
    *("loss", "origin"),
)
_MADE = {}  # the same model is wanted by many tests, each in a store of its own


def _made(make, target: str, frame, table_id: str, options: dict) -> tuple:
    """What a run of ``add_run`` holds: its problem, model, scores and summary."""
    problem = make_problem(
        frame,
        target,
        table_id=table_id,
        table_name=f"fruit, {target}",
        columns=options.get("columns", ["radius", "texture $x$", "colour"]),
        seed=options.get("seed", 0),
        units={"radius": "mm"} | ({"weight": "kg"} if target == "weight" else {}),
    )
    given = {"n_folds": options.get("n_folds", 0)} | options.get("split", {})
    problem = replace(problem, **given)
    weights = {name: options.get(name, "") for name in ("weight", "exposure")}
    problem = weighted_problem(problem, **weights)
    split = problem.split(frame)
    classes = None
    if problem.task != "regression":
        classes = tuple(split.y_train.value_counts().index.tolist())
    model = with_names(make(classes, target, split), problem)
    if "loss" in options:
        model = replace(model, loss=options["loss"])
    origin = options.get("origin")
    if origin is not None:
        model = _noted(model, origin)
    summary = model_size(model) | {"fitted": fitted_split(model, split)}
    if "loss" in options:
        summary["loss"] = options["loss"].to_dict()
    if origin is not None:
        summary["origin"] = origin.to_dict()
    return problem, model, split_scores(model, problem.task, split), summary


def report(store, run_id, n=5):
    """Put points on the curve of a run in training."""
    for epoch in range(1, n + 1):
        store.add_events(
            run_id, [Progress(epoch, 10, 1 / epoch, 1.2 / epoch, epoch * 0.1)]
        )

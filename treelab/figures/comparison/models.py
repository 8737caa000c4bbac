"""Fitted models compared in a notebook: which is better, and at what size."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.evaluation.frontier import HELD_OUT, TEST, FrontierLine
from treelab.evaluation.metrics import TITLES, headline, scores
from treelab.evaluation.paired_bootstrap import paired_bootstrap
from treelab.figures.comparison.difference import difference_figure
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.figures.style.colors import learner_color, shade
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.text.numerals import counted, significant

_ON_ONE_SCALE = ("macro_f1", "accuracy", "r2")  # scores that one figure can hold


def compare(a, b, X, y) -> go.Figure:
    """Draw how the scores of two fitted models differ on the same rows.

    Parameters
    ----------
    a, b : fitted estimators or models
        Anything with ``predict``, for the same target.
    X : table of shape (n_rows, n_columns)
        Rows that neither was trained on.
    y : array-like of shape (n_rows,)

    Returns
    -------
    go.Figure
        Each score of ``b`` minus that of ``a``, with its 95% interval from a paired
        bootstrap of the rows; the title says what is found.
    """
    names = _distinct([_name(a), _name(b)])
    task = _task(a)
    found = paired_bootstrap(task, np.asarray(y), a.predict(X), b.predict(X))
    drawn = [found[name] for name in found if name in _ON_ONE_SCALE]
    columns = ("title", "estimate", "low", "high")
    table = pd.DataFrame({c: [getattr(d, c) for d in drawn] for c in columns})
    colors = _colors([a, b])
    figure = difference_figure(table, *names, colors=(colors[0], colors[1]))
    best = found[headline(task)]
    winner = best.winner
    if winner is None:
        words = f"No clear difference: {best.title} {significant(best.estimate)}"
    else:
        gain = significant(abs(best.estimate))
        words = f"{names[winner]} gains {gain} {best.title} over {names[1 - winner]}"
    rows = counted(len(np.asarray(y)), "row")
    return figure.update_layout(title=f"{words}, on {rows}", margin_t=72)


def frontier(models: Mapping[str, object] | Sequence, X=None, y=None) -> go.Figure:
    """Draw score against number of leaves for fitted models, a line each.

    Parameters
    ----------
    models : sequence of fitted estimators, or mapping of name to one
        Single trees with ``path_`` are lines, their retained tree in a ring; other
        models, ensembles, are a line across, for which ``X`` and ``y`` are needed.
    X, y : table and target, or None
        Rows on which every tree is scored. None: the scores on the rows that were
        held out while the trees were trained, as ``path_`` has them.

    Returns
    -------
    go.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    named = (
        dict(models)
        if isinstance(models, Mapping)
        else dict(zip(_distinct([_name(model) for model in models]), models))
    )
    if not named:
        raise ValueError("frontier needs at least one fitted model, got none.")
    column = HELD_OUT if X is None else TEST
    drawn = [
        _line(name, model, color, X, y)
        for (name, model), color in zip(named.items(), _colors(list(named.values())))
    ]
    metric = TITLES[headline(_task(next(iter(named.values()))))]
    where = "held-out rows" if X is None else counted(len(np.asarray(y)), "row")
    return frontier_figure(drawn, column, score_title=f"{metric}, {where}")


def _line(name: str, model, color: str, X, y) -> DrawnLine:
    """Return what is drawn of one model."""
    inner, rows = _inner(model, X)
    path = getattr(inner, "path_", None)
    metric = headline(_task(model))
    if not isinstance(path, SizePath):
        if X is None:
            raise ValueError(
                f"{name} has no path of trees by size; give X and y, rows to score it "
                "on."
            )
        score = scores(_task(model), np.asarray(y), model.predict(X))[metric]
        return DrawnLine(name, color, score=score)
    test = [np.nan] * len(path)
    if X is not None:
        test = [
            scores(tree.task, np.asarray(y), tree.predict(rows))[metric]
            for tree in path.trees
        ]
    table = pd.DataFrame(
        {
            "leaves": [tree.n_leaves for tree in path.trees],
            HELD_OUT: path.scores["score"].to_numpy(float),
            "standard_error": path.scores["standard_error"].to_numpy(float),
            TEST: test,
            "step": np.arange(len(path)),
        }
    )
    return DrawnLine(name, color, FrontierLine(table, path.chosen))


def _inner(model, X):
    """Return the last step of a pipeline, and the rows as it reads them."""
    if not hasattr(model, "steps"):
        return model, X
    before = model[:-1] if len(model.steps) > 1 else None
    return model[-1], X if X is None or before is None else before.transform(X)


def _task(model) -> str:
    """Return what a model predicts."""
    classes = getattr(model, "classes_", getattr(model, "classes", None))
    if classes is None:
        return "regression"
    return "binary" if len(classes) == 2 else "multiclass"


def _name(model) -> str:
    """Name a model by its class, without what all of them have."""
    name = type(_inner(model, None)[0]).__name__
    return name.removesuffix("Classifier").removesuffix("Regressor")


def _distinct(names: list[str]) -> list[str]:
    """Number names that come twice."""
    found: list[str] = []
    for name in names:
        again = sum(other == name or other.startswith(f"{name} ") for other in found)
        found.append(f"{name} ({again + 1})" if again else name)
    return found


def _colors(models: list) -> list[str]:
    """Return each learner's colour, in shades where it comes again."""
    keys = [_name(model).removesuffix("Tree").lower() for model in models]
    keys = ["gradtree" if key == "grad" else key for key in keys]
    return [
        shade(learner_color(key), keys[:place].count(key))
        for place, key in enumerate(keys)
    ]

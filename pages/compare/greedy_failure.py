"""Why greedy failed here: a split that gains little at once and much in the end."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import GREEDY_ROWS, greedy_gap_of
from pages.cached.runs import LoadedRun, run_colors, run_tree
from pages.compare.pair import Names, Pair
from pages.widgets.page import mode, show_figure
from pages.widgets.words import plain, short_rule
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.comparison import split_lines
from treelab.evaluation.greedy_gap import GreedyGap
from treelab.evaluation.node_report import rows_at_node
from treelab.figures.comparison import axis_of, plane_figure
from treelab.trees.feature import feature_matrix
from treelab.trees.text import split_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, percent

MOST_POINTS = 1500


def show_greedy_failure(pair: Pair, names: Names) -> None:
    """Tell of each run's tree the split that greedy would not make, where one pays."""
    trained = [
        (loaded, name)
        for loaded, name in zip(pair, names)
        if loaded.run.learner != "cart" and not loaded.is_ensemble
    ]
    if not trained:
        st.markdown(
            "Neither run is a single tree that was trained other than greedily. "
            "Choose one, such as GradTree's, to see where a greedy tree fails."
        )
    for loaded, name in trained:
        n_rows = len(loaded.rows("fitted")[0])
        if n_rows > GREEDY_ROWS:
            st.caption(
                f"On a sample of {GREEDY_ROWS:,} of the {n_rows:,} "
                f"{SPLIT_NAMES[loaded.fitted_split]} rows, and of as many test rows "
                "at the most."
            )
        gap = greedy_gap_of(loaded)
        if gap is None:
            st.markdown(
                f"Nothing to tell of {plain(name)}: at none of its splits does greedy "
                "gain far more at once (twice as much or more) and end worse, on "
                f"{SPLIT_NAMES[loaded.fitted_split]} rows and on test rows, with as "
                "many leaves."
            )
        else:
            _show_gap(gap, loaded, name)


def _show_gap(gap: GreedyGap, loaded: LoadedRun, name: str) -> None:
    """Show one split in words, numbers and a picture."""
    tree = run_tree(loaded)
    split = split_text(tree, gap.node, most=3, length=32)
    st.subheader(plain(f"{name} splits by {split}; greedy would not"), anchor=False)
    picture, numbers = st.columns([3, 2], gap="large")
    with numbers:
        st.markdown(plain(_words(gap, loaded, tree, name, split)))
        st.table(_table(gap, name))
    with picture:
        _draw(gap, loaded, tree)


def _words(gap: GreedyGap, loaded: LoadedRun, tree: Tree, name: str, split: str) -> str:
    """Write both gains, at once and in the end."""
    kind = "variance" if tree.classes is None else "Gini impurity"
    where = f"the {gap.n_rows:,} {SPLIT_NAMES[loaded.fitted_split]} rows"
    if gap.node:
        where += f" where {short_rule(tree, gap.node)}"
    leaves = counted(gap.n_leaves, "leaf", "leaves")
    text = (
        f"At once the split removes {_removed(gap.gains.now)} of the {kind} of "
        f"{where}. The best greedy split, {gap.greedy_split}, removes "
        f"{_removed(gap.greedy.now)}. In the end, with {leaves}, {name} has removed "
        f"{_removed(gap.gains.final)}; a greedy tree grown from these rows to {leaves} "
        f"removes {_removed(gap.greedy.final)}."
    )
    if gap.is_xor:
        first, second = (tree.features[j].column for j in gap.axes)
        text += (
            f" Columns {first} and {second} decide only together, an exclusive or "
            "(XOR): opposite corners of the picture are alike, so neither alone tells "
            f"much about {loaded.model.target}, and greedy passes over both."
        )
    return text


def _table(gap: GreedyGap, name: str) -> pd.DataFrame:
    """Return the gains as text."""
    rows = {name: gap.gains, "greedy": gap.greedy}
    return pd.DataFrame(
        {
            "at once": {key: _removed(own.now) for key, own in rows.items()},
            "in the end": {key: _removed(own.final) for key, own in rows.items()},
            "in the end, test": {key: _removed(own.test) for key, own in rows.items()},
        }
    )


def _removed(fraction: float) -> str:
    """Write a fraction of the impurity, that of a loss with its sign."""
    return percent(fraction) if fraction >= 0 else f"−{percent(-fraction)}"


def _draw(gap: GreedyGap, loaded: LoadedRun, tree: Tree) -> None:
    """Draw the rows of the node by two columns, with its split and those below it."""
    X, y = loaded.rows("fitted")
    rows = rows_at_node(tree, gap.node, X)
    matrix = feature_matrix(tree.features, X.iloc[rows])
    axes = tuple(axis_of(tree.features[j], matrix[:, j]) for j in gap.axes)
    empty = np.isnan(matrix).all(axis=0)
    held = np.where(empty, np.nan, np.nanmedian(np.where(empty, 0, matrix), axis=0))
    lines = split_lines(
        tree,
        gap.axes,
        held,
        (axes[0].low, axes[0].high, axes[1].low, axes[1].high),
        node=gap.node,
    )
    points = pd.DataFrame(
        {
            "x": matrix[:, gap.axes[0]],
            "y": matrix[:, gap.axes[1]],
            "target": y.to_numpy()[rows],
        }
    )
    known = points.dropna()
    drawn = known.sample(min(MOST_POINTS, len(known)), random_state=0)
    show_figure(
        plane_figure(
            drawn,
            (axes[0], axes[1]),
            lines,
            colors=run_colors(loaded) or None,
            unit=loaded.model.target_unit,
            mode=mode(),
        ),
        key=f"greedy-gap-{loaded.run.id}",
        alt="Rows of the node by two columns, with the splits as lines.",
    )
    sample = "" if len(drawn) == len(known) else f"A sample of {len(drawn):,} of the "
    missing = len(points) - len(known)
    left_out = f" {missing:,} rows miss a value and are not drawn." if missing else ""
    first, second = (plain(tree.features[j].column) for j in gap.axes)
    st.caption(
        f"{sample}{gap.n_rows:,} {SPLIT_NAMES[loaded.fitted_split]} rows at node "
        f"{gap.node}, by {first} and {second}. Solid: the split; dashed: splits below "
        f"it, other columns at the medians of these rows.{left_out}"
    )

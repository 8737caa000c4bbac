"""Decision surfaces: what both runs predict over two columns, all others held."""

from itertools import chain

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import held_row, number_columns, surface_of
from pages.cached.runs import LoadedRun, run_colors, run_tree
from pages.compare.pair import Names, Pair
from pages.widgets.page import mode, show_figure
from pages.widgets.words import plain, split_words, with_unit
from treelab.evaluation.comparison import SplitLine, split_lines
from treelab.figures.comparison import Axis, Surface, axis_of, plane_figure
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.words import percent

MOST_POINTS = 600


def show_surfaces(pair: Pair, names: Names) -> None:
    """Draw what both predict over two columns that the visitor picks."""
    known = number_columns(pair)
    if len(known) < 2:
        st.markdown(
            "A surface needs two number columns that both runs were given; "
            f"here there {'is one' if known else 'is none'}."
        )
        return
    columns = _pick_columns(pair, known)
    row = st.session_state.get("compare-row")
    place = None if row is None else row - 1
    axes = _axes(pair[0], columns)
    box = (axes[0].low, axes[0].high, axes[1].low, axes[1].high)
    found = [Surface(*surface_of(loaded, columns, box, place)) for loaded in pair]
    st.markdown(plain(_words(pair, found)))
    points = _test_points(pair[0], columns, place)
    scale = _scale(pair[0], points, found)
    colors = dict(chain(*(run_colors(loaded).items() for loaded in pair))) or None
    for side, loaded, name, behind in zip(st.columns(2), pair, names, found):
        with side:
            st.markdown(f"**{plain(name)}**")
            show_figure(
                plane_figure(
                    points,
                    axes,
                    _lines(loaded, columns, box, place),
                    colors=colors,
                    behind=behind,
                    scale=scale,
                    unit=loaded.model.target_unit,
                    mode=mode(),
                ),
                key=f"surface-{loaded.run.id}",
                alt=f"Predictions of {name} over {columns[0]} and {columns[1]}.",
            )
    st.caption(_caption(pair, points, place))


def _pick_columns(pair: Pair, known: tuple[str, ...]) -> tuple[str, str]:
    """Let the visitor choose the columns; at first the two most used by both."""
    key = f"{pair[0].run.id}-{pair[1].run.id}"
    left, right = st.columns(2)
    across = left.selectbox("Column across", known, key=f"surface-x-{key}")
    others = [name for name in known if name != across]
    up = right.selectbox("Column upward", others, key=f"surface-y-{key}")
    return across, up


def _axes(loaded: LoadedRun, columns: tuple[str, str]) -> tuple[Axis, Axis]:
    """Return both axes, as long as the test rows reach."""
    units = dict(loaded.run.problem.units)
    across, up = (
        axis_of(
            Feature(name, unit=units.get(name, "")),
            loaded.split.X_test[name].to_numpy(float),
        )
        for name in columns
    )
    return across, up


def _test_points(
    loaded: LoadedRun, columns: tuple[str, str], place: int | None
) -> pd.DataFrame:
    """Return the test rows in the plane or a sample of them, the followed one named."""
    X, y = loaded.split.rows("test")
    points = pd.DataFrame(
        {"x": X[columns[0]], "y": X[columns[1]], "target": y, "label": ""}
    )
    followed = points.iloc[[] if place is None else [place]]
    points = points.drop(followed.index).dropna()
    room = MOST_POINTS - len(followed)
    points = points.sample(min(room, len(points)), random_state=0)
    if place is not None:
        followed = followed.assign(label=f"test row {place + 1:,}").dropna()
    return pd.concat([points, followed])


def _scale(loaded: LoadedRun, points: pd.DataFrame, found: list[Surface]):
    """Return one colour scale for rows and both surfaces; None for classes."""
    if loaded.model.classes is not None:
        return None
    values = np.concatenate([points["target"], *(s.predicted.ravel() for s in found)])
    return float(values.min()), float(values.max())


def _lines(
    loaded: LoadedRun, columns: tuple[str, str], box, place: int | None
) -> list[SplitLine]:
    """Return the splits of a single tree in the plane; none of an ensemble."""
    if loaded.is_ensemble:
        return []
    tree = run_tree(loaded)
    index = {f.column: j for j, f in enumerate(tree.features) if f.kind == "number"}
    if not set(columns) <= set(index):
        return []
    held = feature_matrix(tree.features, held_row(loaded, place))[0]
    return split_lines(tree, (index[columns[0]], index[columns[1]]), held, box)


def _words(pair: Pair, found: list[Surface]) -> str:
    """Say how alike both surfaces are."""
    first, second = (own.predicted for own in found)
    if pair[0].model.classes is not None:
        alike = float(np.mean(first == second))
        return f"Both predict the same on {percent(alike)} of this plane."
    largest = np.abs(first.astype(float) - second).max()
    return (
        "Predictions differ by at most "
        f"{with_unit(pair[0], float(largest))} on this plane."
    )


def _caption(pair: Pair, points: pd.DataFrame, place: int | None) -> str:
    """Say what is drawn, and where the other columns are held."""
    held = (
        "at the medians (categories: the most frequent) of the training rows; choose a "
        "row under “Follow a test row” to hold them there"
        if place is None
        else f"as in test row {place + 1:,}"
    )
    some = ""
    if len(points) < len(pair[0].split.y_test):
        sample = "a sample of" if len(points) == MOST_POINTS else "the"
        some = f"{sample} {len(points):,} with both values of "
    lines = "Lines: splits that cut this plane, the first one thick"
    if any(loaded.is_ensemble for loaded in pair):
        lines += "; those of an ensemble are too many to draw"
    return (
        f"Background: what is predicted with all other columns {held}. Points: "
        f"{some}{split_words(pair[0], 'test')}, coloured by the target; their other "
        f"columns are their own. {lines}."
    )

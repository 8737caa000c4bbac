"""Why two trees differ: splits greedy would not make, what both predict in a plane."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from pages.cached import comparison as cached
from pages.cached.runs import (
    LoadedRun,
    load_readable,
    run_colors,
    run_tree,
    size_path_of,
)
from pages.compare.pair import Names, Pair, beside
from pages.widgets.page import mode, show_figure
from pages.widgets.words import fitted_words, plain, short_rule, with_unit
from treelab.data.split import SPLIT_NAMES, some_rows
from treelab.evaluation.comparison import lines_between, plane_points
from treelab.evaluation.greedy_gap import GreedyGap, gain_text
from treelab.evaluation.optimality import optimality_gap
from treelab.figures.comparison import axis_of, node_plane, plane_figure
from treelab.trees.feature import Feature
from treelab.trees.text import predicts_times, split_text
from treelab.trees.words import counted, percent


def reasons(pair: Pair) -> dict[str, Callable[[Pair, Names], None]]:
    """Return what can be shown of why two runs differ, by the name of its tab."""
    found = {}
    if any(map(_is_trained_tree, pair)):
        found["Why"] = _show_why
    if len(cached.number_columns(pair)) > 1:
        found["Surfaces"] = _show_surfaces
    return found


MOST_POINTS = 600  # of a plane
PLANE_HEIGHT = 270  # pixels
GAINS = {"now": "immediate gain", "final": "final gain", "test": "final gain, test"}


def _is_trained_tree(loaded: LoadedRun) -> bool:
    """Whether a run is a single tree that was not grown greedily."""
    return loaded.run.learner != "cart" and not loaded.is_ensemble


def _show_why(pair: Pair, names: Names) -> None:
    """Show greedy's failure, and how far both are from the best of their depth."""
    for loaded, name in zip(pair, names):
        if not _is_trained_tree(loaded):
            continue
        gap = cached.greedy_gap_of(loaded)
        if gap is None:
            st.markdown(
                plain(f"No {name} split clearly trades immediate for final gain."),
                help="At no split does greedy gain at least twice as much immediately "
                "and less finally, with as many leaves, on fitted rows and, by more "
                "than chance, on test rows. Where scores differ, it is for other "
                "reasons, such as weighted sums.",
            )
        else:
            _show_gap(gap, loaded, name)
        if (n_rows := loaded.n_rows("fitted")) > cached.GREEDY_ROWS:
            st.caption(
                f"On a sample of {cached.GREEDY_ROWS:,} of the {n_rows:,} "
                f"{SPLIT_NAMES[loaded.fitted_split]} rows, and of at most as many test "
                "rows."
            )
    _show_optimality(pair, names)


def _show_gap(gap: GreedyGap, loaded: LoadedRun, name: str) -> None:
    """Show one split in words, numbers and a picture."""
    tree = run_tree(loaded)
    split = split_text(tree, gap.node, most=3, length=32)
    st.subheader(plain(f"{name} splits by {split}; greedy would not"), anchor=False)
    picture, numbers = st.columns([3, 2], gap="large")
    rows = f"the {gap.n_rows:,} {SPLIT_NAMES[loaded.fitted_split]} rows"
    if gap.node:
        rows += f" where {short_rule(tree, gap.node)}"
    with numbers:
        st.markdown(plain(gap.sentences(tree, name, rows)))
        own = f"{name} (run)" if name == "greedy" else name
        both = {own: gap.gains, "greedy": gap.greedy}
        st.table(
            {
                title: {key: gain_text(getattr(both[key], gain)) for key in both}
                for gain, title in GAINS.items()
            }
        )
    X, y, _ = loaded.rows("fitted")
    points, axes, lines = node_plane(tree, gap.node, gap.axes, X, y)
    known = points.dropna()
    drawn = known.iloc[some_rows(len(known), MOST_POINTS)]
    alt = "Rows of the node by two columns, with the splits as lines."
    colors = run_colors(loaded) or None
    with picture:
        _show_plane("greedy-gap", loaded, (drawn, axes, lines), alt, colors=colors)
    sample = "" if len(drawn) == len(known) else f"A sample of {len(drawn):,} of the "
    missing = len(points) - len(known)
    left_out = f" {missing:,} rows miss a value and are not drawn." if missing else ""
    first, second = (plain(tree.features[j].column) for j in gap.axes)
    picture.caption(
        f"{sample}{gap.n_rows:,} {SPLIT_NAMES[loaded.fitted_split]} rows at node "
        f"{gap.node}, by {first} and {second}. Solid: the split; dashed: splits below "
        f"it, other columns at the medians of these rows.{left_out}"
    )


def _show_plane(key: str, loaded: LoadedRun, drawn: tuple, alt: str, **look) -> None:
    """Draw rows of a run in the plane of two columns, with splits as lines."""
    look |= {"unit": loaded.model.target_unit, "times": predicts_times(loaded.model)}
    figure = plane_figure(*drawn, mode=mode(), **look)
    figure.update_layout(height=PLANE_HEIGHT)
    show_figure(figure, key=f"{key}-{loaded.run.id}", alt=alt)


MOST_RUNS = 50  # among which an optimal tree is looked for


def _show_optimality(pair: Pair, names: Names) -> None:
    """Say how many more errors each tree makes than the best one of its depth."""
    runs = cached.comparable_runs(pair[0].run, MOST_RUNS)
    # Over fewer columns than these runs had, the best tree is not the best of theirs.
    columns = {name for loaded in pair for name in loaded.run.problem.columns}
    runs = [run for run in runs if columns <= set(run.problem.columns)]
    optimal = load_readable([run for run in runs if run.learner == "optimal"])
    if not optimal:
        return
    best = optimal[0]
    path = size_path_of(best.run)
    searched = [run_tree(best)] if path is None else list(path.trees)
    lines = []
    for loaded, name in zip(pair, names):
        by_leaves = not (loaded.is_ensemble or loaded.model.has_predictor)
        if by_leaves and loaded.run.id != best.run.id:
            gap = optimality_gap(run_tree(loaded), searched, *best.rows("fitted"))
            if gap is not None:
                words = gap.words(loaded.model.classes is not None)
                lines.append(f"{plain(name)} (depth {gap.depth}): {words}")
    if lines:
        st.caption(
            f"On the {fitted_words(best)} of the optimal tree: {'; '.join(lines)}. "
            "Among its thresholds none is better where its note says proven."
        )


def _show_surfaces(pair: Pair, names: Names) -> None:
    """Draw what both predict over two columns that the visitor picks."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="plane"):
        known, key = cached.number_columns(pair), f"{pair[0].run.id}-{pair[1].run.id}"
        x = st.selectbox("Column across", known, key=f"surface-x-{key}", width=250)
        others = [name for name in known if name != x]
        y = st.selectbox("Column upward", others, key=f"surface-y-{key}", width=250)
        columns = x, y
        said = st.empty()
    row = st.session_state.get("compare-row")
    place = None if row is None else row - 1
    units, X_test = pair[0].units, pair[0].split.X_test
    forms = {own.column: own.form for own in pair[0].model.features}  # know dates
    features = (Feature(c, unit=units.get(c, ""), form=forms.get(c)) for c in columns)
    across, up = (axis_of(own, X_test[own.column].to_numpy(float)) for own in features)
    box = (across.low, across.high, up.low, up.high)
    found = [cached.surface_of(loaded, columns, box, place) for loaded in pair]
    test, scale = pair[0].split.rows("test"), None
    points = plane_points(test.X, test.y, columns, place, MOST_POINTS)
    first, second = (own.predicted for own in found)
    if pair[0].model.classes is not None:
        alike = percent(float(np.mean(first == second)))
        said.markdown(f"Both predict the same on {alike} of this plane.")
    else:
        far = with_unit(pair[0], float(np.abs(first.astype(float) - second).max()))
        said.markdown(plain(f"Predictions differ by at most {far} on this plane."))
        values = np.concatenate([points["target"], first.ravel(), second.ravel()])
        scale = float(values.min()), float(values.max())
    colors = run_colors(pair[0]) | run_colors(pair[1])
    look = {"colors": colors or None, "scale": scale}
    for (loaded, name, _), behind in zip(beside(pair, names, st.columns(2)), found):
        lines = []  # none of an ensemble
        if not loaded.is_ensemble:
            held_at = cached.held_row(loaded, place)
            lines = lines_between(run_tree(loaded), columns, held_at, box)
        alt = f"Predictions of {name} over {x} and {y}."
        drawn = points, (across, up), lines
        _show_plane("surface", loaded, drawn, alt, behind=behind, **look)
    held = (
        "at the medians of the training rows, or the most frequent category (follow a "
        "test row to hold them there)"
    )
    if row is not None:
        held = f"as in test row {row:,}"
    shown = counted(pair[0].n_rows("test"), "test row")
    if len(points) < len(pair[0].split.y_test):
        sample = "a sample of " if len(points) == MOST_POINTS else ""
        shown = f"{sample}{len(points):,} of {shown}, those with both values"
    st.caption(
        f"Background: predictions with all other columns {held}. Points, coloured by "
        f"the target: {shown}. Lines: splits of single trees, the first one thick."
    )

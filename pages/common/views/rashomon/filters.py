"""Which trees of the set are shown: by columns, size, order, rates and costs."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.rashomon.trees import group_rows, tree_predictions
from pages.common.cached.store import table
from pages.common.words import plain
from treelab.evaluation.comparison import cost_curve
from treelab.evaluation.fairness import RATES, gaps_of_models
from treelab.evaluation.rashomon import TreeFilter, passing
from treelab.trees.rashomon import RashomonSet
from treelab.trees.words import significant

DIRECTIONS = {"up": "never falls", "down": "never rises"}


@dataclass(frozen=True)
class Filtered:
    """Trees that pass, and what was measured of them by the way.

    Attributes
    ----------
    places : int array
        In the set, the best first.
    facts : dict of int to list of str
        Sentences on single trees, by place.
    """

    places: np.ndarray
    facts: dict[int, list[str]]


def pick_filters(loaded: LoadedRun, trees: RashomonSet, near: np.ndarray) -> Filtered:
    """Let the visitor say what a tree must be like; return those that are."""
    with st.expander("Filters", icon=":material/filter_alt:", key="rashomon-filters"):
        wanted = _structure(loaded, trees, near)
        rate, cost = None, None
        if loaded.model.classes is not None:
            rate = _rates(loaded)
        if loaded.model.classes is not None and len(loaded.model.classes) == 2:
            cost = _costs(loaded)
    places = near[passing([trees.trees[i] for i in near], wanted)]
    facts: dict[int, list[str]] = {int(place): [] for place in places}
    for limit in (rate, cost):
        if limit is not None and len(places):
            places = limit(places, facts)
    return Filtered(places, facts)


def _structure(loaded: LoadedRun, trees: RashomonSet, near: np.ndarray) -> TreeFilter:
    """Ask for columns, leaves and order."""
    left, middle, right = st.columns(3)
    columns = list(loaded.run.problem.columns)
    without = left.multiselect(
        "Uses none of",
        columns,
        key="rashomon-without",
        placeholder="any column",
        help="Trees that test one of these columns are left out.",
    )
    sizes = [trees.trees[i].n_leaves for i in near]
    low, high = min(sizes), max(sizes)
    most = None
    if low < high:
        most = middle.slider(
            "At most leaves", low, high, high, key=f"rashomon-leaves-{low}-{high}"
        )
    numbers = [
        feature.column
        for feature in trees.tree.features
        if feature.kind == "number" and trees.tree.weights is None
    ]
    column = right.selectbox(
        "Monotone in",
        numbers,
        index=None,
        key="rashomon-monotone",
        placeholder="no column",
        disabled=not numbers,
        help="Checked on the leaves' boxes, so on every possible row, not on a sample.",
    )
    monotone: tuple[tuple[str, str], ...] = ()
    if column is not None:
        what = "prediction"
        if loaded.model.classes is not None:
            what = f"probability of “{plain(loaded.model.classes[-1])}”"
        direction = right.segmented_control(
            f"With it the {what}",
            list(DIRECTIONS),
            default="up",
            required=True,
            format_func=DIRECTIONS.__getitem__,
            key="rashomon-direction",
        )
        monotone = ((column, direction),)
    return TreeFilter(tuple(without), most, monotone)


def _rates(loaded: LoadedRun):
    """Ask for a group column and how far a rate may be apart."""
    first, second, third, fourth = st.columns(4)
    frame = table(loaded.run.problem.table_id)
    names = [name for name in frame if name != loaded.run.problem.target]
    column = first.selectbox(
        "Rates by group of",
        names,
        index=None,
        key="rashomon-group",
        placeholder="no column",
        help="Any column of the table, also one that no tree may use.",
    )
    if column is None:
        return None
    labels = ranked_classes(loaded)
    label = second.selectbox(
        "Class", labels[::-1], format_func=str, key="rashomon-class"
    )
    rate = third.selectbox("Rate", list(RATES), key="rashomon-rate")
    most = fourth.slider(
        "At most apart",
        0.0,
        1.0,
        1.0,
        0.01,
        key="rashomon-apart",
        help="Highest minus lowest rate of the groups, on the rows the run was fitted "
        "to.",
    )
    code = list(loaded.model.classes).index(label)

    def limit(places: np.ndarray, facts: dict[int, list[str]]) -> np.ndarray:
        """Return the trees whose groups are near enough."""
        predicted = tree_predictions(loaded, "fitted")[0][places] == code
        is_class = (loaded.rows("fitted")[1] == label).to_numpy()
        group = group_rows(loaded, column, "fitted")
        gaps = gaps_of_models(predicted, is_class, group, rate)
        for place, gap in zip(places.tolist(), gaps.tolist()):
            words = "unknown" if np.isnan(gap) else significant(gap)
            facts[place].append(f"{rate} apart by {words}")
        return places[~(gaps > most)]

    return limit


def _costs(loaded: LoadedRun):
    """Ask what errors cost, and how much a row may cost at the best threshold."""
    first, second, third = st.columns(3)
    label = loaded.model.classes[1]
    false_positive = first.number_input(
        f"Cost of a false “{plain(label)}”", 0.0, value=1.0, key="rashomon-fp"
    )
    false_negative = second.number_input(
        f"Cost of a missed “{plain(label)}”", 0.0, value=1.0, key="rashomon-fn"
    )
    most = third.number_input(
        "Mean cost of a row at most",
        0.0,
        value=None,
        key="rashomon-cost",
        placeholder="any",
        help="At each tree's cheapest threshold, on the rows the run was fitted to, "
        "which makes it a little too low.",
    )
    if most is None and false_positive == false_negative == 1.0:
        return None

    def limit(places: np.ndarray, facts: dict[int, list[str]]) -> np.ndarray:
        """Return the trees that are cheap enough."""
        chance = tree_predictions(loaded, "fitted")[1]
        assert chance is not None
        is_class = (loaded.rows("fitted")[1] == label).to_numpy()
        cost = []
        for place in places.tolist():
            curve = cost_curve(is_class, chance[place], false_positive, false_negative)
            cost.append(float(curve.cost.min()))
            facts[place].append(
                f"costs {significant(cost[-1])} a row from {curve.cheapest:.2f} on"
            )
        return places if most is None else places[np.array(cost) <= most]

    return limit

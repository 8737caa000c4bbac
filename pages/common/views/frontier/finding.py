"""What the trees of two runs reach at one size, in words."""

import math

import streamlit as st

from pages.common.cached.frontier import RunOnFrontier, differences_at
from pages.common.views.compare.comparison import Names
from pages.common.words import plain
from treelab.evaluation.frontier import HELD_OUT, TEST, compare_lines
from treelab.evaluation.metrics import headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.trees.words import counted, significant

COLUMNS = {HELD_OUT: "Held-out rows", TEST: "Test rows"}


def show_finding(
    pair: tuple[RunOnFrontier, RunOnFrontier], names: Names, column: str, leaves: int
) -> None:
    """Say what two runs reach at one size, and whether that is more than chance."""
    if words := _finding_words(pair, names, column, leaves):
        st.markdown(plain(words))
    places = [own.line.place_for(leaves) for own in pair if own.line is not None]
    if len(places) < 2 or places[0] is None or places[1] is None:
        return
    found = differences_at(*pair, (places[0], places[1]))
    best = found[headline(pair[0].loaded.run.problem.task)]
    st.markdown(f"**{plain(_advice(best, names, leaves))}** {_test_words(best, names)}")


def _advice(best: ScoreDifference, names: Names, leaves: int) -> str:
    """Say which learner to prefer at a size."""
    of_leaves = f"a tree of at most {counted(leaves, 'leaf', 'leaves')}"
    if best.winner is None:
        return f"For {of_leaves} neither is clearly better."
    return f"For {of_leaves} prefer {names[best.winner]}."


def _test_words(best: ScoreDifference, names: Names) -> str:
    """Write both scores on the test rows, and the interval of their difference."""
    if best.low == best.high == 0:
        return plain(
            f"On the same {best.n_rows:,} test rows both reach "
            f"{significant(best.first)} {best.title}, in every resample."
        )
    scores = (
        f"{names[0]} {significant(best.first)}, {names[1]} {significant(best.second)}"
    )
    return plain(
        f"On the same {best.n_rows:,} test rows {scores} {best.title}; "
        f"{best.level:.0%} interval of {names[1]} less {names[0]} "
        f"{significant(best.low)} to {significant(best.high)}."
    )


def _finding_words(
    pair: tuple[RunOnFrontier, RunOnFrontier], names: Names, column: str, leaves: int
) -> str:
    """Say what the trees of two runs reach at one size."""
    one, other = (own.line for own in pair)
    assert one is not None
    assert other is not None
    found = compare_lines(one, other, column, leaves)
    if found is None:
        return ""
    scores = [(names[0], found.first), (names[1], found.second)]
    if not found.first_is_better:
        scores.reverse()
    at = counted(leaves, "leaf", "leaves")
    words = ", ".join(f"{name} {significant(score)}" for name, score in scores)
    start = f"At {at}, {COLUMNS[column].lower()}: {words}."
    if math.isclose(found.first, found.second):
        return start
    worse = scores[1][0]
    if found.n_leaves_needed is None:
        return f"{start} {worse} reaches that at no size."
    needed = counted(found.n_leaves_needed, "leaf", "leaves")
    return f"{start} {worse} needs {needed} for the same."

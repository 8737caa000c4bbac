"""The pruning path's figure."""

from dataclasses import replace

import pandas as pd
import pytest

from treelab.evaluation.frontier import knee_of
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.pruning import MARGINS, place_of, pruning_figure

TABLE = pd.DataFrame(
    {
        "strength": [0.0, 1.0, 10.0, 100.0],
        "valid_score": [0.90, 0.895, 0.893, 0.5],
        "test_score": [0.91, 0.90, 0.88, 0.5],
        "active_splits": [15, 9, 4, 0],
        "empty_nodes": [0, 6, 11, 15],
    }
)


def draw(table=TABLE, **changes):
    return pruning_figure(
        table,
        **{
            "marks": {0: "retained", 2: "smallest"},
            "strength_title": "pruning strength (lambda)",
            "score_title": "macro F1",
            "n_rows": {"valid_score": 114, "test_score": 113},
        }
        | changes,
    )


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_curves_name_the_rows_they_were_measured_on():
    figure = draw()
    assert list(trace(figure, "validation, 114 rows").y) == [0.9, 0.895, 0.893, 0.5]
    assert list(trace(figure, "test, 113 rows").y) == [0.91, 0.9, 0.88, 0.5]
    assert list(trace(figure, "empty nodes").y) == [0, 6, 11, 15]


def test_a_line_laid_over_the_figure_goes_through_its_step():
    figure = draw()
    first, last = figure.layout.xaxis.range
    for step in range(len(TABLE)):
        assert place_of(step, len(TABLE)) == pytest.approx(
            (step - first) / (last - first)
        )
    margin = figure.layout.margin
    assert {side: margin[side] for side in MARGINS} == MARGINS
    assert margin.autoexpand is False
    assert not figure.layout.xaxis2.automargin
    assert not figure.layout.yaxis.automargin


def test_marked_steps_have_a_ring_and_their_words():
    assert list(trace(draw(), "retained").x) == [0]
    assert list(trace(draw(), "smallest").x) == [2]


def steps(table: pd.DataFrame, chosen: int | None) -> PruningSteps:
    """A path of which only the scores are known."""
    return PruningSteps((), table, chosen, "leaves")


def test_a_long_mark_on_the_last_step_ends_at_it():
    (mark,) = draw(TABLE[:3], marks={2: "retained"}).layout.annotations
    assert mark.xanchor == "right"


def test_the_smallest_good_tree_is_marked_and_shares_a_mark_with_the_retained_one():
    words = "smallest within 0.01 of the best"
    assert steps(TABLE, 0).marks == {0: "retained", 2: words}
    assert steps(TABLE, 2).marks == {2: f"retained, {words}"}
    assert steps(TABLE.drop(columns="valid_score"), None).marks == {0: "retained"}
    held_out = TABLE.assign(held_out_score=TABLE["valid_score"], standard_error=0.006)
    words = "retained, smallest within one standard error"
    assert steps(held_out, 1).marks == {1: words}
    assert replace(steps(held_out, 1), rule="").marks == {1: "retained"}


def test_a_path_without_validation_scores_is_drawn_without_marks():
    figure = draw(TABLE.drop(columns="valid_score"))
    assert [t.name for t in figure.data] == [
        "test, 113 rows",
        "active splits",
        "empty nodes",
    ]


def test_a_long_path_keeps_few_ticks():
    table = pd.concat([TABLE] * 30, ignore_index=True)
    assert len(draw(table).layout.xaxis2.tickvals) <= 8


def test_purity_of_clusters_is_a_line_among_the_scores():
    table = pd.DataFrame(
        {
            "strength": [0.0, 1.0],
            "valid_score": [0.9, 0.8],
            "purity": [0.4, 0.6],
            "active_splits": [3, 1],
        }
    )
    figure = pruning_figure(
        table, marks={}, strength_title="p", score_title="s", n_rows={"valid_score": 9}
    )
    (line,) = [t for t in figure.data if t.name == "purity of clusters"]
    assert list(line.y) == [0.4, 0.6]
    assert line.yaxis == figure.data[0].yaxis


def test_where_nothing_can_be_scored_the_knee_is_that_of_the_loss():
    table = pd.DataFrame(
        {
            "strength": [0.0, 1.0, 10.0],
            "valid_loss": [0.2, 0.205, 0.9],
            "leaves": [8, 4, 2],
        }
    )
    assert knee_of(table) == 1
    figure = pruning_figure(
        table, marks={1: "knee"}, strength_title="λ", score_title="loss", n_rows={}
    )
    assert "validation loss" in {trace.name for trace in figure.data}
    (mark,) = [t for t in figure.data if t.name == "knee"]
    assert (mark.x[0], mark.y[0]) == (1, 0.205)

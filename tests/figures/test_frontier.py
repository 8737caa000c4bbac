"""The figure of score against size."""

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.frontier import frontier_line
from treelab.figures.frontier import DrawnLine, frontier_figure


def made(chosen=1):
    table = pd.DataFrame(
        {
            "leaves": [8, 4, 2],
            "held_out_score": [0.9, 0.8, np.nan],
            "standard_error": [0.05, 0.04, np.nan],
            "test_score": [0.7, 0.6, 0.5],
        }
    )
    return frontier_line(table, chosen)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("column", ["held_out", "test"])
def test_each_run_is_a_line_and_an_ensemble_a_line_across(mode, column):
    lines = [
        DrawnLine("CART <b>", "#6B7280", made()),
        DrawnLine("GRANDE", "#E69F00", score=0.95),
    ]
    figure = frontier_figure(lines, column, score_title="macro F1", mode=mode)
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert set(named) == {"CART &lt;b&gt;", "GRANDE"}
    cart = named["CART &lt;b&gt;"]
    known = made().table.dropna(subset=[column])
    assert list(cart.x) == known["leaves"].tolist()
    assert list(cart.y) == known[column].tolist()
    assert [*cart.customdata] == [[0, place] for place in known.index]
    assert set(named["GRANDE"].y) == {0.95}
    (ring,) = (trace for trace in figure.data if trace.marker.symbol == "circle-open")
    assert (ring.x[0], ring.y[0]) == (4, known.set_index("leaves")[column][4])
    assert ring.legendgroup == cart.legendgroup != named["GRANDE"].legendgroup
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == (column == "held_out")


def test_the_mean_over_data_splits_is_drawn_as_steps_with_its_error():
    band = pd.DataFrame({"leaves": [2, 4], "mean": [0.5, 0.8]})
    band["standard_error"] = [0.1, 0.05]
    lines = [
        DrawnLine("CART", "#6B7280", made(), band=band, n_splits=3),
        DrawnLine("GRANDE", "#E69F00", score=0.9, band=band[:1], n_splits=3),
    ]
    figure = frontier_figure(lines, "held_out", score_title="macro F1")
    means = [trace for trace in figure.data if trace.line.dash == "dash"]
    assert list(means[0].x) == [2, 4, 4, 4]
    assert list(means[0].y) == [0.5, 0.5, 0.8, 0.8]
    assert list(means[1].x) == [2, 16]  # an ensemble has one score, whatever the size
    assert "mean of 3 data splits" in means[0].hovertemplate
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 2  # in the place of that of the folds
    assert max(bands[0].y) == pytest.approx(0.85)
    assert min(bands[0].y) == pytest.approx(0.4)

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
    assert cart.customdata.tolist() == [[0, place] for place in known.index]
    assert set(named["GRANDE"].y) == {0.95}
    (ring,) = (trace for trace in figure.data if trace.marker.symbol == "circle-open")
    assert (ring.x[0], ring.y[0]) == (4, known.set_index("leaves")[column][4])
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == (column == "held_out")

"""The figure of an ensemble's heaviest trees."""

import numpy as np
import pytest

from treelab.figures.ensembles import deciders_figure


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_each_rows_scores_stand_over_the_counts_and_the_shown_one_is_ringed(mode):
    counts = (1, 2, 5, 12)
    scores = {"validation, 40 rows": np.array([0.6, 0.7, 0.8, 0.9])}
    scores["test, 50 rows"] = scores["validation, 40 rows"] - 0.1
    figure = deciders_figure(counts, scores, shown=2, score_title="macro F1", mode=mode)
    lines, rings = figure.data[::2], figure.data[1::2]
    assert [line.name for line in lines] == list(scores)
    for line, ring, values in zip(lines, rings, scores.values()):
        assert tuple(line.x) == counts
        np.testing.assert_allclose(line.y, values)
        assert (ring.x[0], ring.y[0]) == (5, values[2])
    assert figure.layout.xaxis.ticktext[-1] == "all 12"

"""The map of trees that score alike."""

import numpy as np

from treelab.figures.rashomon import likeness_map


def test_points_carry_their_trees_and_the_runs_own_is_ringed():
    places = np.array([[0.0, 0], [1, 0], [0, 2]])
    figure = likeness_map(
        places,
        np.array([0.8, 0.7, 0.9]),
        [4, 7, 9],
        ["a", "b", "c"],
        own=1,
        score_title="macro F1",
    )
    points, ring = figure.data
    assert [own[0] for own in points.customdata] == [4, 7, 9]
    assert list(points.marker.color) == [0.8, 0.7, 0.9]
    assert (ring.x[0], ring.y[0]) == (1, 0)

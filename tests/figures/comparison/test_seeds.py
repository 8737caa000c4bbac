"""Scores of two learners on several data splits."""

from treelab.figures.comparison import seeds_figure


def test_both_scores_of_a_seed_stand_on_one_line():
    figure = seeds_figure(
        ["3", "10"],
        ([0.5, 0.6], [0.7, 0.65]),
        ("CART", "GradTree"),
        "macro F1",
        colors=("#6B7280", "#0072B2"),
    )
    joins, first, second = figure.data
    assert joins.x == (0.5, 0.7, None, 0.6, 0.65, None)
    assert joins.y[:2] == ("3", "3")
    assert list(first.y) == list(second.y) == ["3", "10"]
    assert first.marker.symbol != second.marker.symbol

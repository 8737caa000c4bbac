"""The matrix of how alike routes are."""

import numpy as np
import pytest

from treelab.evaluation.routing import compare_routes
from treelab.figures.routing import similarity_figure


@pytest.mark.parametrize("n_classes", [2, 30])
def test_the_matrix_is_in_the_dendrograms_order_and_its_cells_name_both(n_classes):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(n_classes, 9), rng.integers(0, 9, n_classes)])
    rows = np.column_stack([rows, 9 - rows[:, 1]])
    names = [f"<{i}>" for i in range(n_classes)]
    found = compare_routes(names, rows)
    figure = similarity_figure(found, mode="dark")
    matrix, tree = figure.data
    assert np.allclose(np.diag(matrix.z), 1)
    first = found.order[0]
    assert matrix.z[0][1] == found.similarity[first, found.order[1]]
    assert list(matrix.customdata[1][0]) == [
        f"&lt;{first}&gt;",
        f"&lt;{found.order[1]}&gt;",
    ]
    assert len(tree.x) == 5 * (n_classes - 1)
    numbers = [each.text for each in figure.layout.annotations]
    assert numbers[:1] == (["1.00"] if n_classes == 2 else [])

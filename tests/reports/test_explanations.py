"""Which rows a report explains."""

import numpy as np

from tests.pages.stores import single_tree, table
from treelab.data.problem import make_problem
from treelab.reports.run_report import chosen_rows


def trained(target: str):
    frame = table()
    problem = make_problem(frame, target, columns=["radius", "texture $x$", "colour"])
    split = problem.split(frame)
    classes = None
    if target == "kind":
        classes = tuple(split.y_train.value_counts().index)
    return single_tree(classes, target, split), *split.rows("test")[:2]


def test_of_classes_the_least_sure_a_typical_and_the_surest_wrong_row():
    tree, X, y = trained("kind")
    proba = np.sort(tree.predict_proba(X), axis=1)
    least, typical, worst = chosen_rows(tree, X, y).values()
    assert proba[least, -1] - proba[least, -2] == (proba[:, -1] - proba[:, -2]).min()
    right = tree.predict(X) == y.to_numpy()
    assert right[typical]
    assert not right[worst]


def test_of_numbers_a_typical_row_is_predicted_well_and_the_worst_is_the_furthest():
    tree, X, y = trained("weight")
    error = np.abs(tree.predict(X) - y.to_numpy())
    _, typical, worst = chosen_rows(tree, X, y).values()
    assert error[worst] == error.max()
    assert error[typical] <= np.median(error)

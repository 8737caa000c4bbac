"""Which rows a report explains."""

import numpy as np

from tests.pages.stores import single_tree, table
from treelab.data.problem import make_problem
from treelab.reports.explanations import chosen_rows


def trained(target: str):
    frame = table()
    problem = make_problem(frame, target, columns=["radius", "texture $x$", "colour"])
    split = problem.split(frame)
    classes = None
    if target == "kind":
        classes = tuple(split.y_train.value_counts().index)
    return single_tree(classes, target, split), *split.rows("test")


def test_of_classes_the_least_sure_a_typical_and_the_surest_wrong_row():
    tree, X, y = trained("kind")
    sure, right = tree.predict_proba(X).max(axis=1), tree.predict(X) == y.to_numpy()
    least, typical, worst = chosen_rows(tree, X, y).values()
    assert sure[least] == sure.min()
    assert right[typical]
    assert np.mean(sure[right] <= sure[typical]) >= 0.5
    assert not right[worst]
    assert sure[worst] == sure[~right].max()


def test_of_numbers_the_median_and_the_largest_error():
    tree, X, y = trained("weight")
    error = np.abs(tree.predict(X) - y.to_numpy())
    typical, worst = chosen_rows(tree, X, y).values()
    assert error[worst] == error.max()
    assert np.mean(error <= error[typical]) >= 0.5
    assert np.mean(error >= error[typical]) >= 0.5

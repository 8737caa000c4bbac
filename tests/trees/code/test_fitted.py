"""Trees that learners fitted predict alike in every language."""

import pytest

from tests.slow_params import slow_after
from tests.trees.code.run import check_all
from tests.trees.code.test_exchange import check_exchange
from treelab.data.builtin import BUILTIN
from treelab.learners.argmin.estimators import ArgminTreeClassifier
from treelab.learners.get.estimators import GetClassifier, GetRegressor
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.learners.grande.estimators import GrandeClassifier

SHORT = {"max_epochs": 3, "random_state": 0}
GRADTREE = {"max_leaf_nodes": 16, "n_restarts": 2, "n_steps": 20, "random_state": 0}
GET = {"n_steps": 20, "max_depth": 3, "n_starts": 2, "random_state": 0}
FITTED = {
    "gradtree": ("mixed", GradTreeClassifier(**GRADTREE)),
    "get linear": ("diabetes", GetRegressor(leaves="linear", **GET)),
    "get costs": (
        "iris",
        GetClassifier(constraints={"class_costs": "virginica as versicolor: 9"}, **GET),
    ),
    "argmin": ("iris", ArgminTreeClassifier(depth=3, **SHORT)),
    "grande": ("mixed", GrandeClassifier(n_estimators=8, depth=3, **SHORT)),
    "gradtree regression": ("diabetes", GradTreeRegressor(**GRADTREE)),
    "get": ("mixed", GetClassifier(**GET)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_after(5, FITTED))
def test_a_fitted_tree_predicts_alike_in_every_language(name, tmp_path):
    key, learner = FITTED[name]
    table = BUILTIN[key]
    frame = table.load()
    X, y = frame.drop(columns=table.target), frame[table.target]
    model = learner.fit(X, y).model_
    if name == "argmin":
        model = model.trees[model.chosen]
    if name == "grande":
        model = model.estimator(0, X, y)
    check_all(model, X, tmp_path)
    check_exchange(model, X)

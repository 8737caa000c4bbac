"""Fitted models in a notebook: compared, by size, and a tree that shows itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import treelab
from tests.trees.make import make_tree
from treelab import CartClassifier, CartRegressor

QUICK = {"tune": False}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.normal(size=300)})
Y = np.where((X["a"] > 0) ^ (X["b"] > 0), "yes", "no")


@pytest.fixture(scope="module")
def models():
    """A tree that can learn the table and one that cannot."""
    return [
        CartClassifier(tune=False, max_depth=1).fit(X, Y),
        CartClassifier(tune=False, max_depth=8).fit(X, Y),
    ]


def test_compare_says_which_model_is_better(models):
    figure = treelab.compare(*models, X, Y)
    title = figure.layout.title.text
    assert title.startswith("Cart (2) gains")
    assert title.endswith("macro F1 over Cart, on 300 rows")
    assert len(figure.data) == 2
    times = 1 + np.arange(300) % 3
    twice = np.repeat(np.arange(300), times)
    weighted = treelab.compare(*models, X, Y, times)
    repeated = treelab.compare(*models, X.iloc[twice], Y[twice])
    gain = [each.layout.title.text.split(",")[0] for each in (weighted, repeated)]
    assert gain[0] == gain[1] != title.split(",")[0]
    same = treelab.compare(models[0], models[0], X, Y)
    assert same.layout.title.text.startswith("Both predict the same")


def test_a_column_of_targets_is_compared_as_the_targets_are():
    """(n, 1) against (n,) would be n predictions for each row."""
    y = X[["a"]] * 2
    one, two = (
        CartRegressor(tune=False, max_depth=depth).fit(X, y) for depth in (1, 3)
    )
    linear = LinearRegression().fit(X, y)  # predicts a column, too
    for first, second in ((one, two), (one, linear)):
        titles = {
            treelab.compare(first, second, X, own).layout.title.text
            for own in (y, y["a"], y.to_numpy())
        }
        assert len(titles) == 1
    found = [treelab.surrogate(linear, X, own, settings=QUICK) for own in (y, y["a"])]
    assert str(found[0]) == str(found[1])
    assert found[0].imitation.against_truth["r2"].first > 0.999


def test_frontier_draws_a_line_for_each_path_and_one_across_for_others(models):
    other = DecisionTreeClassifier(random_state=0).fit(X, Y)
    scaled = make_pipeline(StandardScaler(), CartClassifier(tune=False)).fit(X, Y)
    named = {"mine": models[1], "theirs": other, "scaled": scaled}
    figure = treelab.frontier(named, X, Y)
    names = {trace.name for trace in figure.data if trace.name}
    assert names >= {"mine", "theirs", "scaled"}
    (mine,) = (trace for trace in figure.data if trace.name == "mine")
    assert list(mine.x) == sorted(mine.x)
    assert max(mine.y) == models[1].score(X, Y) or max(mine.y) > 0.8
    assert figure.layout.yaxis.title.text == "macro F1, 300 rows"
    with pytest.raises(ValueError, match="theirs has no path of trees by size"):
        treelab.frontier(named)
    with pytest.raises(ValueError, match="at least one"):
        treelab.frontier([])
    number = CartRegressor(tune=False).fit(X, X["a"])
    with pytest.raises(ValueError, match="of classes and of numbers"):
        treelab.frontier([models[1], number], X, Y)


def test_frontier_weighs_rows_as_if_they_were_repeated(models):
    times = 1 + np.arange(300) % 3
    twice = np.repeat(np.arange(300), times)
    path = CartClassifier(max_leaf_nodes=4).fit(X, Y)
    given = [path, models[0]]
    weighted = treelab.frontier(given, X, Y, times)
    repeated = treelab.frontier(given, X.iloc[twice], Y[twice])
    plain = treelab.frontier(given, X, Y)
    for one, two, other in zip(weighted.data, repeated.data, plain.data):
        np.testing.assert_allclose(one.y, two.y)
        assert not np.allclose(one.y, other.y)


def test_a_tree_shows_itself_in_a_notebook():
    tree = make_tree(np.random.default_rng(0), 5)
    shown = tree._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert shown.count('"') == 8  # the page is escaped
    assert "treelabViewer" in shown

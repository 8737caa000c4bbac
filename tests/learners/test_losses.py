"""Regressors of another loss: what they predict, choose and refuse."""

import numpy as np
import pytest
from sklearn.metrics import d2_pinball_score
from sklearn.tree import DecisionTreeRegressor

from tests.learners.test_frames import learner
from tests.slow_params import slow_after
from treelab import CartRegressor
from treelab.trees.losses import LOSSES, Loss

SLOW = pytest.mark.slow
KEYS = [
    "cart",
    "get",
    pytest.param("gradtree", marks=SLOW),
    pytest.param("grande", marks=SLOW),
]
OTHERS = [name for name in LOSSES if name != "squared_error"]


def rows(n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Waiting times that grow with the first column, the longest ones most."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows, 3))
    return X, 0.1 + X[:, 0] + rng.exponential(0.2 + 2 * X[:, 0])


@pytest.mark.parametrize("loss", OTHERS)
@pytest.mark.parametrize("key", KEYS)
def test_every_loss_is_learned_and_stored(key, loss, tmp_path):
    X, y = rows()
    small = {"max_leaf_nodes": 6} if key == "cart" else {}
    more = {"quantile": 0.8} if loss == "quantile" else {}
    model = learner(key, "regression", loss=loss, **small, **more).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.model_.loss.name == loss
    assert model.score(X, y) > -0.5
    model.model_.save(tmp_path / "model")
    again = type(model.model_).load(tmp_path / "model")
    assert again.loss == model.model_.loss
    frame = model._read_frame(X, reset=False)
    assert (again.predict(frame) == model.predict(X)).all()


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_leaves_of_a_quantile_tree_hold_the_quantile_of_their_rows(level):
    X, y = rows()
    settings = {"max_leaf_nodes": 6, "tune": False, "random_state": 0}
    settings["interval"] = None  # else they are moved
    model = CartRegressor(loss="quantile", quantile=level, **settings).fit(X, y)
    same = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, y)
    leaf = same.apply(X)
    refitted = Loss("quantile", level).constants(leaf, y, np.ones(len(y)), 99)[leaf]
    np.testing.assert_allclose(model.predict(X), refitted)
    below = (y <= model.predict(X)).mean()
    assert below == pytest.approx(level, abs=0.05)
    assert model.score(X, y) == pytest.approx(
        d2_pinball_score(y, model.predict(X), alpha=level), abs=0.01
    )
    assert f"{level:g} quantile" in " ".join(model.tree_.notes)


@pytest.mark.slow
@pytest.mark.parametrize("loss", OTHERS)
def test_the_size_is_chosen_by_the_loss_in_folds(loss):
    X, y = rows()
    model = CartRegressor(loss=loss, random_state=0).fit(X, y)
    scores = model.path_.scores["score"]
    assert scores.notna().all()
    assert scores.max() < 1
    assert scores.iloc[model.path_.chosen] > 0


@pytest.mark.slow
@pytest.mark.parametrize("loss", slow_after(2, OTHERS))
def test_units_of_the_target_change_no_tree(loss):
    X, y = rows()
    trees = [
        CartRegressor(loss=loss, random_state=0).fit(X, unit * y).tree_
        for unit in (1.0, 2.0**20)
    ]
    assert (trees[0].feature == trees[1].feature).all()
    np.testing.assert_allclose(2.0**20 * trees[0].value, trees[1].value)


@pytest.mark.parametrize(
    "loss", [{"loss": "quantile", "quantile": 0.7}, {"loss": "huber"}]
)
def test_leaves_of_weighted_rows_are_those_of_repeated_rows(loss):
    X, y = rows(80)
    times = np.arange(80) % 4
    own = loss | {"tune": False, "random_state": 0}
    own["interval"] = None  # rows are drawn into folds
    weighted = CartRegressor(**own, max_leaf_nodes=5).fit(X, y, times)
    again = CartRegressor(**own, max_leaf_nodes=5)
    again.fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.predict(X), again.predict(X))


@pytest.mark.parametrize("key", ["cart", "gradtree", "get", "grande"])
def test_targets_that_a_loss_does_not_know_are_refused_with_their_row(key):
    X, y = rows()
    y[17] = -1
    with pytest.raises(ValueError, match="at least 0, but y holds -1 in row 17"):
        learner(key, "regression", loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"quantile=0\.9 needs loss='quantile'"):
        learner(key, "regression", quantile=0.9).fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of"):
        learner(key, "regression", loss="cross_entropy").fit(X, y)


@pytest.mark.slow
def test_a_tree_of_another_loss_is_not_edited_by_means():
    from treelab.editing.apply import apply_edits
    from treelab.editing.edits import Prune
    from treelab.editing.limits import EditRows

    X, y = rows()
    model = CartRegressor(loss="absolute_error", max_leaf_nodes=4).fit(X, y)
    frame = model._read_frame(X, reset=False)
    with pytest.raises(ValueError, match="predicts medians is not edited"):
        apply_edits(model.tree_, [Prune("")], EditRows(model.tree_, frame, y))

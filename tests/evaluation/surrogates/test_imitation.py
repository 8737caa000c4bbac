"""How well a tree imitates a model, against scikit-learn's scores."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, r2_score

from treelab.evaluation.surrogates import imitation, residual_target


def labels(seed: int, n_rows: int = 200) -> tuple[np.ndarray, ...]:
    """A truth, a model that is often right, a tree that often follows it."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["a", "b", "c"], n_rows)
    model = np.where(rng.random(n_rows) < 0.9, truth, rng.choice(["a", "b"], n_rows))
    tree = np.where(rng.random(n_rows) < 0.8, model, "c")
    return truth, model, tree


def test_fidelity_and_scores_against_the_truth_are_scikit_learns():
    truth, model, tree = labels(0)
    found = imitation("multiclass", model, tree, truth)
    assert found.fidelity["accuracy"] == pytest.approx(np.mean(model == tree))
    f1 = f1_score(model, tree, average="macro")
    assert found.fidelity["macro_f1"] == pytest.approx(f1)
    scores = found.against_truth["macro_f1"]
    assert scores.first == pytest.approx(f1_score(truth, model, average="macro"))
    assert scores.second == pytest.approx(f1_score(truth, tree, average="macro"))
    first, second = found.sentences("“forest”")
    assert first.startswith("Fidelity: the tree agrees with “forest” on ")
    assert "“forest” is better" in second
    by_weight = imitation("multiclass", model, tree, weight=np.arange(1.0, 201))
    assert "of 200 held-out rows by weight, macro F1" in by_weight.sentences()[0]


def test_numbers_have_r2_against_the_model():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=100)
    model, tree = truth + rng.normal(0, 0.1, 100), truth + rng.normal(0, 0.1, 100)
    truth[:40] = np.nan
    found = imitation("regression", model, tree, truth)
    assert found.fidelity["r2"] == pytest.approx(r2_score(model, tree))
    assert found.against_truth["r2"].n_rows == 60
    assert "no clear difference" in found.sentences()[1]


def test_labels_that_are_written_differently_are_refused():
    _, model, tree = labels(0)
    with pytest.raises(ValueError, match="alike"):
        imitation("multiclass", model, tree, np.arange(len(model)))


@pytest.mark.parametrize("share", [0, 1])
def test_where_all_or_nothing_differs_there_is_no_residual(share):
    model = np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="no residual tree"):
        residual_target("binary", model, np.abs(model - share))


def test_the_residual_of_numbers_is_the_distance():
    found = residual_target("regression", [1.0, 2.0], [3.0, 1.5])
    assert found.tolist() == [2.0, 0.5]

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    d2_absolute_error_score,
    d2_tweedie_score,
    f1_score,
    precision_recall_fscore_support,
)
from sklearn.metrics import confusion_matrix as scikit_learns_confusion

from treelab.evaluation.metrics import (
    baseline_loss,
    class_scores,
    confusion_matrix,
    dendrogram_purity,
    headline,
    macro_f1,
    macro_f1_error,
    one_cluster_purity,
    scores,
)
from treelab.evaluation.paired_bootstrap import score_intervals
from treelab.trees.losses import Loss


def test_classification_scores_by_hand():
    found = scores("binary", ["a", "a", "b", "b"], ["a", "b", "b", "b"])
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0.8) / 2)
    assert found["n_rows"] == 4


def test_a_class_never_predicted_counts_zero_without_a_warning(recwarn):
    found = scores("multiclass", [0, 1, 2], [0, 0, 0])
    assert found["macro_f1"] == pytest.approx(0.5 / 3)
    assert len(recwarn) == 0


def test_balanced_accuracy_is_scikit_learns(recwarn):
    rng = np.random.default_rng(0)
    y, guess = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    found = scores("multiclass", y, guess)["balanced_accuracy"]
    assert found == pytest.approx(balanced_accuracy_score(y, guess))
    assert scores("binary", [0, 0], [0, 1])["balanced_accuracy"] == 0.5
    assert len(recwarn) == 0


@pytest.mark.parametrize("n_classes", [2, 5, 40])
def test_confusion_and_macro_f1_are_scikit_learns(n_classes):
    rng = np.random.default_rng(0)
    y, guess = rng.integers(n_classes, size=(2, 60))
    confusion = confusion_matrix(y, guess, n_classes)
    expected = scikit_learns_confusion(y, guess, labels=range(n_classes))
    assert (confusion == expected).all()
    expected = f1_score(y, guess, average="macro")
    assert macro_f1(confusion) == pytest.approx(expected)
    assert scores("multiclass", y, guess)["macro_f1"] == pytest.approx(expected)


def test_macro_f1_leaves_out_classes_that_do_not_occur():
    y, guess = np.array([0, 0, 2, 2]), np.array([0, 2, 2, 2])
    expected = f1_score(y, guess, average="macro")
    assert macro_f1(confusion_matrix(y, guess, 4)) == pytest.approx(expected)


def test_macro_f1_of_many_matrices_is_that_of_each():
    confusion = np.random.default_rng(0).integers(0, 9, size=(2, 3, 4, 4))
    confusion[0, 0, 1], confusion[0, 0, :, 1] = 0, 0
    each = [[macro_f1(matrix) for matrix in some] for some in confusion]
    np.testing.assert_array_equal(macro_f1(confusion), each)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_error_of_macro_f1_is_its_spread_over_samples_of_rows(n_classes):
    rng = np.random.default_rng(n_classes)
    truth = rng.integers(0, n_classes, 300)
    guess = np.where(rng.uniform(size=300) < 0.7, truth, rng.permutation(truth))
    drawn = [rng.integers(0, 300, 300) for _ in range(300)]
    spread = np.std([f1_score(truth[i], guess[i], average="macro") for i in drawn])
    confusion = confusion_matrix(truth, guess, n_classes)
    assert macro_f1_error(confusion, 300) == pytest.approx(spread, rel=0.25)
    assert macro_f1_error(1000.0 * confusion, 300) == macro_f1_error(confusion, 300)
    assert macro_f1_error(confusion_matrix(truth, truth, n_classes), 300) == 0


def test_log_loss_takes_any_order_of_classes_and_labels_unseen_in_training():
    proba = np.array([[0.2, 0.8], [0.6, 0.4]])
    found = scores("binary", ["a", "b"], ["a", "b"], proba, classes=("b", "a"))
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.6]).mean())
    odd = scores("binary", ["a", "new"], ["a", "b"], proba, classes=("b", "a"))
    assert np.isfinite(odd["log_loss"])


def test_regression_scores_by_hand():
    found = scores("regression", [1.0, 3.0], [2.0, 3.0])
    assert found["mae"] == 0.5
    assert found["r2"] == 0.5
    assert np.isnan(scores("regression", [1.0], [1.0])["r2"])
    same, loss = np.full(6, 19.9), Loss("poisson")  # whose mean is rounded
    found = scores("regression", same, same + 1, loss=loss)
    assert found["r2"] == 0
    assert np.isnan(found["d2"])
    assert baseline_loss("regression", same, same + 1) == 1
    ends = score_intervals("regression", same, same + 1, loss=loss)
    assert np.isnan([*ends["r2"], *ends["d2"]]).all()


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no row"):
        scores("binary", [], [])


def test_headline():
    assert headline("regression") == "r2"
    assert headline("multiclass") == "macro_f1"
    assert headline("regression", Loss("poisson")) == "d2"


def test_the_headline_of_a_loss_is_its_d2_as_scikit_learn_has_it():
    rng = np.random.default_rng(0)
    y, weight = rng.poisson(2.0, 80).astype(float), rng.uniform(0.5, 2, 80)
    predicted = rng.uniform(1, 3, 80)
    expected = {
        Loss("poisson"): d2_tweedie_score(y, predicted, sample_weight=weight, power=1),
        Loss("absolute_error"): d2_absolute_error_score(
            y, predicted, sample_weight=weight
        ),
    }
    for loss, d2 in expected.items():
        own = {"sample_weight": weight, "loss": loss}
        found = scores("regression", y, predicted, **own)
        assert found[headline("regression", loss)] == pytest.approx(d2)


def test_the_baseline_costs_the_entropy_or_one_variance():
    y = ["a"] * 30 + ["b"] * 10
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert baseline_loss("binary", y, y) == pytest.approx(entropy)
    assert baseline_loss(
        "regression", [1.0, 2.0, 6.0], [1.0, 2.0, 6.0]
    ) == pytest.approx(1)
    assert baseline_loss("regression", [1.0, 3.0], [5.0]) == pytest.approx(9)
    assert np.isfinite(baseline_loss("binary", ["a", "b"], ["new"]))
    assert baseline_loss("regression", [2.0, 2.0], [2.0]) == 1.0


def purity_by_brute_force(parent, leaf, y):
    """Every pair of one class, its lowest common node, the class's share there."""

    def above(node):
        return [node, *above(parent[node])] if node >= 0 else []

    shares = []
    for i in range(len(y)):
        for j in range(i):
            if y[i] == y[j]:
                common = next(n for n in above(leaf[i]) if n in above(leaf[j]))
                under = [y[k] for k in range(len(y)) if common in above(leaf[k])]
                shares.append(np.mean([label == y[i] for label in under]))
    return np.mean(shares)


@pytest.mark.parametrize("seed", range(10))
def test_dendrogram_purity_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 12))
    parent = np.array([-1] + [int(rng.integers(0, n)) for n in range(1, n_nodes)])
    leaf, y = rng.integers(0, n_nodes, 20), rng.integers(0, 3, 20)
    expected = purity_by_brute_force(parent.tolist(), leaf.tolist(), y.tolist())
    assert dendrogram_purity(parent, leaf, y) == pytest.approx(expected)


def test_dendrogram_purity_of_a_perfect_and_of_a_trivial_hierarchy():
    y = ["a", "a", "b", "b"]
    assert dendrogram_purity([-1, 0, 0], [1, 1, 2, 2], y) == 1
    assert dendrogram_purity([-1], [0, 0, 0, 0], y) == one_cluster_purity(y) == 0.5
    assert one_cluster_purity([1] * 9 + [0]) == pytest.approx(0.9)
    assert np.isnan(dendrogram_purity([-1], [0, 0], ["a", "b"]))


def test_scores_of_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(4, size=(2, 200))
    found = class_scores(confusion_matrix(truth, predicted, 4))
    precision, recall, f1, rows = precision_recall_fscore_support(truth, predicted)
    np.testing.assert_allclose(found["precision"], precision)
    np.testing.assert_allclose(found["recall"], recall)
    np.testing.assert_allclose(found["F1"], f1)
    np.testing.assert_array_equal(found["rows"], rows)


def test_a_class_that_is_never_predicted_has_no_precision():
    found = class_scores(np.array([[3, 0], [2, 0]]))
    assert np.isnan(found["precision"][1])
    assert found["recall"][1] == 0


def test_labels_that_are_text_here_and_numbers_there_are_refused():
    with pytest.raises(ValueError, match="truth is 1, and predicted is '1'"):
        scores("binary", np.array([1, 0], object), np.array(["1", "0"], object))
    with pytest.raises(ValueError, match="A label is missing"):
        scores("binary", np.array(["a", None], object), np.array(["a", "b"], object))

"""Which of scikit-learn's checks cannot hold, and why."""

from sklearn.base import is_regressor


def of_drawn_rows(estimator) -> dict[str, str]:
    """Name the check that a row of weight two is a row that comes twice.

    Rows that come twice are drawn twice into folds, batches and bootstraps, and counted
    twice where leaves need a number of rows. CART's plain regression tree draws none.
    """
    if is_regressor(estimator) and getattr(estimator, "tune", None) is False:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "rows are drawn and counted"
    }


def of_equal_weights(estimator) -> dict[str, str]:
    """Name the checks that optimal trees, which refuse weights that differ, fail."""
    names = ("weights_not_overwritten", "weight_equivalence_on_dense_data")
    return {f"check_sample_{name}": "weights that differ are refused" for name in names}

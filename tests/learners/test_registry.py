import pytest

from treelab.learners.registry import LEARNERS, make_estimator


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("key", LEARNERS)
def test_every_setting_shown_is_one_of_the_estimator(key, task):
    spec = LEARNERS[key]
    estimator = make_estimator(
        key, task, spec.defaults(task), random_state=7, device="cpu"
    )
    assert spec.defaults(task).items() <= estimator.get_params().items()
    assert estimator.random_state == 7
    assert estimator.device == "cpu"


@pytest.mark.parametrize("key", LEARNERS)
def test_defaults_lie_in_their_own_bounds(key):
    for setting in LEARNERS[key].settings:
        setting.check(setting.default)


def test_unknown_names_are_refused_with_what_there_is():
    with pytest.raises(ValueError, match="choose cart, gradtree"):
        make_estimator("forest", "binary", {})
    with pytest.raises(ValueError, match="CART has no setting 'width'; it has ccp_"):
        make_estimator("cart", "binary", {"width": 3})
    with pytest.raises(ValueError, match="CART has no setting 'class_weight'"):
        make_estimator("cart", "regression", {"class_weight": "balanced"})


def test_a_value_out_of_range_is_refused():
    with pytest.raises(ValueError, match="max_depth"):
        make_estimator("cart", "binary", {"max_depth": 0})

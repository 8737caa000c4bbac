import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.data.split import assign_splits

STRATA = st.lists(st.integers(0, 6), min_size=3, max_size=200).map(np.array)


@given(strata=STRATA, seed=st.integers(0, 2**32 - 1))
def test_every_split_has_a_row_and_every_class_is_trained_on(strata, seed):
    split = assign_splits(strata, 0.2, 0.2, seed)
    assert set(split) == {0, 1, 2}
    for value, count in zip(*np.unique(strata, return_counts=True)):
        held = split[strata == value]
        assert count < 3 or set(held) == {0, 1, 2}
        # A split that would be empty takes a row, in tiny tables a class's last one.
        if len(strata) > 10:
            assert 0 in held


@given(
    counts=st.lists(st.integers(10, 300), min_size=1, max_size=8),
    seed=st.integers(0, 100),
    valid_share=st.sampled_from([0.1, 0.2, 0.3]),
)
def test_shares_hold_in_each_class_and_in_all(counts, seed, valid_share):
    strata = np.repeat(np.arange(len(counts)), counts)
    split = assign_splits(strata, valid_share, 0.2, seed)
    for k, share in ((1, valid_share), (2, 0.2)):
        assert abs((split == k).sum() - share * len(strata)) <= 1
        for value, count in enumerate(counts):
            assert abs((split[strata == value] == k).sum() - share * count) <= 1.01


def test_the_same_seed_splits_alike():
    strata = np.zeros(100, dtype=int)
    first = assign_splits(strata, 0.2, 0.2, 7)
    assert (first == assign_splits(strata, 0.2, 0.2, 7)).all()
    assert (first != assign_splits(strata, 0.2, 0.2, 8)).any()


def test_rows_are_shuffled_within_a_class():
    split = assign_splits(np.zeros(1000, dtype=int), 0.2, 0.2, 0)
    assert 350 < np.nonzero(split == 2)[0].mean() < 650


def test_three_rows_are_one_each():
    assert sorted(assign_splits(np.zeros(3, dtype=int), 0.2, 0.2, 0)) == [0, 1, 2]
    assert sorted(assign_splits(np.array([0, 1, 1]), 0.2, 0.2, 0)) == [0, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_rows_are_refused(n):
    with pytest.raises(ValueError, match=f"at least 3 rows.*has {n}"):
        assign_splits(np.zeros(n, dtype=int), 0.2, 0.2, 0)

import numpy as np
import pytest

from treelab.learners.common.folds import (
    N_PARTS,
    REPEATED_COLUMNS,
    REPEATED_ROWS,
    assign_folds,
    assign_parts,
    hold_out,
    repeated_folds,
)


@pytest.fixture(scope="module")
def folds_drawn_once():
    """Not here: those of small tables are drawn three times."""


def test_parts_are_alike_in_size_and_drawn_by_the_seed():
    part = assign_parts(103, seed=0)
    assert set(np.bincount(part, minlength=N_PARTS)) == {5, 6}
    np.testing.assert_array_equal(part, assign_parts(103, seed=0))
    assert (part != assign_parts(103, seed=1)).any()


def test_large_tables_have_their_folds_drawn_once():
    assert len(repeated_folds(np.arange(REPEATED_ROWS) % 2, seed=0)) == 3
    assert len(repeated_folds(np.arange(REPEATED_ROWS + 1) % 2, seed=0)) == 1
    wide = REPEATED_COLUMNS + 1
    assert len(repeated_folds(np.arange(60) % 2, seed=0, n_columns=wide)) == 1


CLASSES = np.arange(200) % 3
GROUPS = np.array([f"group {i % 17}" if i % 17 else None for i in range(200)], object)


@pytest.mark.parametrize("target", [CLASSES, CLASSES + 0.5, np.arange(200) // 199])
def test_rows_of_a_group_are_held_out_together(target):
    def names(rows):
        return set(GROUPS[rows].tolist())

    for folds in repeated_folds(target, seed=3, groups=GROUPS):
        assert sum(fold.sum() for fold in folds) == 200
        assert len(folds) == 5
        assert not any(names(fold) & names(~fold) for fold in folds)
    by_class = target.dtype.kind == "i"
    train, held_out = hold_out(target, by_class=by_class, seed=3, groups=GROUPS)
    assert set(target[train]) == set(target)
    assert 20 < len(held_out) < 60
    assert not names(train) & names(held_out)
    part = assign_parts(200, seed=3, groups=GROUPS)
    assert len({(group, own) for group, own in zip(GROUPS, part)}) == 17


@pytest.mark.parametrize("seed", range(12))
def test_a_class_of_one_row_trains_and_no_row_is_on_both_sides(seed):
    target = np.append(np.arange(40) % 2, 2)
    train, held_out = hold_out(target, by_class=True, seed=seed)
    assert set(target[train]) == {0, 1, 2}
    assert sorted([*train, *held_out]) == list(range(41))


def test_few_groups_make_few_folds_and_one_counts_as_none():
    assert set(assign_folds(CLASSES, 5, seed=0, groups=np.arange(200) // 90)) == {
        0,
        1,
        2,
    }
    for rows in hold_out(CLASSES, by_class=True, seed=0, groups=CLASSES):
        np.testing.assert_array_equal(rows, np.arange(200))  # none can be spared
    alike = assign_folds(CLASSES, 5, seed=0, groups=np.zeros(200))
    np.testing.assert_array_equal(alike, assign_folds(CLASSES, 5, seed=0))

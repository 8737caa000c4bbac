import numpy as np
import pytest

from treelab.learners.common.folds import (
    N_PARTS,
    REPEATED_COLUMNS,
    REPEATED_ROWS,
    assign_parts,
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

import numpy as np

from treelab.learners.common.folds import scored_parts


def test_the_parts_of_each_fold_hold_its_rows_once():
    fold = np.arange(103) % 5
    parts = scored_parts([fold == own for own in range(5)], 4, seed=0)
    for own, of_fold in enumerate(parts):
        assert len(of_fold) == 4
        rows = np.sort(np.concatenate(of_fold))
        np.testing.assert_array_equal(rows, np.flatnonzero(fold == own))


def test_a_fold_with_fewer_rows_than_parts_has_a_part_for_each():
    ((*parts,),) = scored_parts([np.array([True, False, True])], 4, seed=0)
    assert sorted(int(part[0]) for part in parts) == [0, 2]

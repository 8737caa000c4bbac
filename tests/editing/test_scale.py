"""Edits do the same whatever the units of the target and of the columns are."""

import numpy as np
import pytest

from tests.editing.tables import COLUMNS, fitted, table
from treelab.editing.candidates import candidates, gain_of
from treelab.editing.edited import Edited
from treelab.editing.limits import EditRows
from treelab.editing.regrow import refit, regrow


@pytest.mark.parametrize(
    ("factor", "offset"), [(1e-10, 0.0), (1.0, 1e9), (1e50, 0.0), (1e-10, 1.0)]
)
def test_splits_are_offered_and_grown_alike(factor, offset):
    frame = table(1)
    scaled = frame.assign(value=frame["value"] * factor + offset)
    for column in ("age", "income"):
        scaled[column] = frame[column] * factor + offset
    offered, leaves = [], []
    for own in (frame, scaled):
        tree = fitted(own, "value")
        rows = EditRows(tree, own[COLUMNS], own["value"])
        at = np.arange(len(own))
        offered.append(candidates(rows, at, tree.features))
        grown = refit(regrow(Edited.of(tree), "", rows, 6), rows)
        leaves.append(grown.apply(own[COLUMNS]))
        truth, leaf = own["value"].to_numpy(), leaves[-1]
        for node in np.unique(leaf):
            mean = truth[leaf == node].mean()
            assert grown.value[node, 0] == pytest.approx(mean, rel=1e-9)
    assert leaves[0].tolist() == leaves[1].tolist()
    assert len(offered[0]) == len(offered[1]) == 3
    for plain, found in zip(*offered):
        assert found.column == plain.column
        assert found.n_left == plain.n_left
        assert found.gain == pytest.approx(plain.gain * factor**2, rel=1e-4)


def test_rounding_is_no_gain_where_the_target_is_far_from_zero():
    frame = table(2)
    rows = EditRows(fitted(frame, "value"), frame[COLUMNS], frame["value"] * 0 + 0.1)
    at = np.arange(len(frame))
    tree = fitted(frame, "value")
    assert candidates(rows, at, tree.features) == []
    assert gain_of(rows, at, at < 80) == pytest.approx(0, abs=1e-30)

"""Files that are offered of a tree can be written."""

import pytest

from treelab.reports.tree_files import tree_files
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


@pytest.mark.parametrize("outputs", [(), ("u", "v")])
def test_each_file_that_is_offered_can_be_written(outputs):
    leaves = [[0.5, 1.0], [2.0, 3.0]] if outputs else [0.5, 2.0]
    tree = Tree.complete((Feature("kg"),), [0], [5.0], [True], leaves, outputs=outputs)
    offered = tree_files(tree, tree)
    assert ("C function" in offered) == (not outputs)
    for _, write, _ in offered.values():
        assert write()

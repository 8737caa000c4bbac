"""Files that are offered of a tree can be written."""

from dataclasses import replace

import numpy as np
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


def test_a_tree_with_linear_leaves_is_not_offered_as_pmml():
    tree = Tree.complete((Feature("kg", fill=1.0),), [0], [5.0], [True], [[0.5], [2.0]])
    linear = replace(
        tree, leaf_weights=np.ones((3, 1)), leaf_bias=np.array([[0.0], [1.0], [2.0]])
    )
    offered = tree_files(linear, linear)
    assert "PMML" not in offered
    for _, write, _ in offered.values():
        assert write()


def test_a_tree_of_one_leaf_is_not_offered_as_onnx():
    tree = Tree.complete((Feature("kg"),), [], [], [], [[0.5]])
    offered = tree_files(tree, tree)
    assert "ONNX" not in offered
    for _, write, _ in offered.values():
        assert write()

"""What code in any language shares: the columns it reads, its predictions."""

from abc import ABC, abstractmethod

from treelab.trees.code.splits import SumTest, Term, inputs, split_test, terms
from treelab.trees.tree import Tree


class Writer(ABC):
    """Writes one tree; a language adds how its numbers, columns and labels look.

    Attributes
    ----------
    tree : Tree
    inputs : list of Input
        The columns that the code reads.
    """

    def __init__(self, tree: Tree):
        self.tree = tree
        self.inputs = inputs(tree)

    @abstractmethod
    def number(self, value: float) -> str:
        """Write a number that reads back as the same float64."""

    @abstractmethod
    def value(self, term: Term) -> str:
        """Write the number that a term multiplies by its weight."""

    @abstractmethod
    def class_prediction(self, leaf: int) -> str:
        """Write a leaf's class, or its probabilities."""

    def prediction(self, leaf: int) -> str:
        """Write what a leaf predicts."""
        tree = self.tree
        if tree.classes is not None:
            return self.class_prediction(leaf)
        if tree.leaf_weights is None:
            return self.number(float(tree.value[leaf, 0]))
        assert tree.leaf_bias is not None  # as of every tree with linear leaves
        bias = self.number(float(tree.leaf_bias[leaf, 0]))
        added = self.sum(terms(tree, tree.leaf_weights[leaf]))
        return f"{bias} + {added}" if added else bias

    def sum_test(self, test: SumTest) -> str:
        """Write that a weighted sum goes left."""
        return f"{self.sum(test.terms) or '0.0'} <= {self.number(test.threshold)}"

    def sum(self, added: tuple[Term, ...]) -> str:
        """Write a weighted sum, its terms in order."""
        return " + ".join(f"{self.number(t.weight)} * {self.value(t)}" for t in added)

    def may_lack(self, node: int) -> list[str]:
        """Write the numbers that a split's sum may lack; none for other splits."""
        test = split_test(self.tree, node)
        if not isinstance(test, SumTest):
            return []
        return list(dict.fromkeys(self.value(t) for t in test.terms if t.may_fail))

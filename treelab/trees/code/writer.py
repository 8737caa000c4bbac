"""What code in any language has in common: the columns it reads, its answers."""

from abc import ABC, abstractmethod

from treelab.trees.code.asked import SumTest, Term, asked, inputs, terms


class Writer(ABC):
    """Writes one tree; a language says how its numbers, columns and labels look.

    Attributes
    ----------
    tree : Tree
    inputs : list of Input
        The columns that the code reads.
    """

    def __init__(self, tree):
        self.tree = tree
        self.inputs = inputs(tree)

    @abstractmethod
    def number(self, value: float) -> str:
        """Write a number that reads back as the same float64."""

    @abstractmethod
    def value(self, term: Term) -> str:
        """Write the number that a term weighs."""

    @abstractmethod
    def class_answer(self, leaf: int) -> str:
        """Write what a leaf says of the classes."""

    def answer(self, leaf: int) -> str:
        """Write what a leaf says."""
        tree = self.tree
        if tree.classes is not None:
            return self.class_answer(leaf)
        if tree.leaf_weights is None:
            return self.number(float(tree.value[leaf, 0]))
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
        test = asked(self.tree, node)
        if not isinstance(test, SumTest):
            return []
        return list(dict.fromkeys(self.value(t) for t in test.terms if t.may_fail))

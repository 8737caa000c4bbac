"""Forest: trees of another program, and how they predict together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treelab.trees.adapters.weighted import weighted_trees
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.labels import most_probable, task_of
from treelab.trees.logits import softmax
from treelab.trees.tree import Tree

LINKS = ("identity", "logistic", "softmax", "exp")


@dataclass(frozen=True, eq=False)
class Forest(Sequence):
    """Trees that predict together, by their mean or by their sum.

    ``forest[3]`` and ``for tree in forest`` give the trees, ``len(forest)`` how many.

    Parameters
    ----------
    trees : tuple of Tree
        All with the same features. Those that are added up are regression trees, of a
        margin or of the target itself.
    classes : tuple or None
        Labels; None for regression.
    target : str
    is_sum : bool, default=False
        Whether the prediction is made from a sum (boosting) instead of the mean (a
        random forest).
    base : tuple of float
        What each sum starts from, one an output.
    output : tuple of int
        To which output each tree adds.
    link : {"identity", "logistic", "softmax", "exp"}, default="identity"
        What turns sums into the prediction.
    dtype : {"float32", "float64"}, default="float64"
        What sums are added up in.
    notes : tuple of str
        Sentences that must be shown with it.

    Raises
    ------
    ValueError
        If there is no tree, or these do not fit each other.
    """

    trees: tuple[Tree, ...]
    classes: tuple | None = None
    target: str = "target"
    is_sum: bool = False
    base: tuple[float, ...] = (0.0,)
    output: tuple[int, ...] = ()
    link: str = "identity"
    dtype: str = "float64"
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.trees:
            raise ValueError("A forest needs at least one tree.")
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {LINKS}, got {self.link!r}.")
        if self.is_sum and len(self.output) != len(self.trees):
            raise ValueError(
                f"{len(self.trees)} trees are added up, but output has "
                f"{len(self.output)} entries."
            )

    def __getitem__(self, index):
        return self.trees[index]

    def __len__(self):
        return len(self.trees)

    def __repr__(self):
        how = "sum" if self.is_sum else "mean"
        return (
            f"Forest({self.task}, target={self.target!r}, {how} of {len(self)} trees)"
        )

    @property
    def task(self) -> str:
        """Return "binary", "multiclass" or "regression"."""
        return task_of(self.classes)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of its trees."""
        return self.trees[0].features

    def to_weighted_trees(self) -> WeightedTrees:
        """Return these trees as an ensemble that can be saved; see ``weighted_trees``.

        Raises
        ------
        ValueError
            If no such ensemble predicts the same, or it were too large.
        """
        return weighted_trees(self)

    def to_dict(self) -> dict:
        """Return it as JSON-safe values, as a run stores it; see ``to_weighted_trees``.

        Raises
        ------
        ValueError
            As ``to_weighted_trees`` does.
        """
        return self.to_weighted_trees().to_dict()

    def decision_function(self, X) -> np.ndarray:
        """Return the sums, (n_rows, n_outputs), added up in the order of the trees.

        Raises
        ------
        ValueError
            If these trees predict by their mean.
        """
        if not self.is_sum:
            raise ValueError("The trees of this forest predict by their mean.")
        parts = [tree.predict(X).astype(self.dtype) for tree in self.trees]
        total = np.tile(np.array(self.base, dtype=self.dtype), (len(parts[0]), 1))
        for k, part in zip(self.output, parts):
            total[:, k] += part
        return total

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities, float64 (n_rows, n_classes), as in ``classes``.

        Raises
        ------
        ValueError
            If this is a regression.
        """
        if self.classes is None:
            raise ValueError("A regression forest has no class probabilities.")
        if not self.is_sum:
            return self._mean([tree.predict_proba(X) for tree in self.trees])
        margin = self.decision_function(X).astype(np.float64)
        if self.link == "softmax":
            return softmax(margin)
        yes = 1 / (1 + np.exp(-margin[:, 0]))
        return np.column_stack([1 - yes, yes])

    def predict(self, X) -> np.ndarray:
        """Return each row's most probable class, or value of the target; (n_rows,)."""
        if self.classes is not None:
            return most_probable(self.classes, self.predict_proba(X))
        if not self.is_sum:
            return self._mean([tree.predict(X) for tree in self.trees])
        total = self.decision_function(X)[:, 0].astype(np.float64)
        if self.link == "logistic":
            return 1 / (1 + np.exp(-total))
        return np.exp(total) if self.link == "exp" else total

    def _mean(self, parts: list[np.ndarray]) -> np.ndarray:
        """Return the mean of the trees' predictions, added up in their order."""
        total = np.zeros_like(parts[0])
        for part in parts:
            total += part
        return total / len(parts)

"""Scores of a tree's prunings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from treelab.data.split import DataSplit
from treelab.evaluation.frontier import KNEE_TOLERANCE, judged_by, knee_of
from treelab.evaluation.metrics import headline_score, macro_f1_of_counts
from treelab.trees.losses import SQUARED_ERROR, Loss
from treelab.trees.pruning import (
    SMALLEST,
    CostComplexityPath,
    SizePath,
    cost_complexity_path,
)
from treelab.trees.pruning_path import PruningPath, shown_tree
from treelab.trees.tree import Tree, knows_impurity, rows_by_level, rows_through, sum_up
from treelab.trees.words import counted, shortest

# Scores of every tree on a cost-complexity path, without building any of them.


def pruned_scores(
    path: CostComplexityPath, X: pd.DataFrame, y, weight: np.ndarray | None = None
) -> np.ndarray:
    """Score each subtree of a path, (n_steps,), on the same rows.

    By macro F1 over the classes that occur, or R²; as ``metrics.scores`` has it. Rows
    are counted once, at the nodes of the unpruned tree, which has rows; each node
    counts in the subtrees of which it is a leaf. ``y`` (n_rows,) are labels, or values
    in the target's unit.
    """
    tree = path.tree
    y, leaf = np.asarray(y), tree.apply(X)
    if tree.classes is None:
        each = np.ones(len(y)) if weight is None else weight
        return _r2(path, X, y.astype(float), each, leaf)
    position = {label: i for i, label in enumerate(tree.classes)}
    places = (position.setdefault(label, len(position)) for label in y.tolist())
    truth = np.fromiter(places, dtype=np.int64, count=len(y))
    counts = rows_through(tree, leaf, truth, len(position), weight)
    sums = class_sums(path, counts, tree.predicted_class)
    return _score_of(sums, tree.task)


def pooled_scores(sums: np.ndarray, task: str) -> np.ndarray:
    """Score cross-validation by held-out rows pooled over the folds, (..., n_folds).

    By macro F1, or R² against the training mean of each fold. A rare class may have no
    row in a fold, so a mean of the folds' macro F1 is unsteady; counts that are pooled
    first are not. A fold's score is what its rows make of the pooled one: the scores of
    all folds have the pooled score as mean, and their standard error is the jackknife's
    over folds. The sums (n_folds, ..., 2, n_classes) are those that ``class_sums`` and
    ``value_sums`` add up of each fold's held-out rows.

    Source: Forman and Scholz, "Apples-to-apples in cross-validation studies", SIGKDD
    Explorations 12(1), 2010.
    """
    n_folds, total = len(sums), sums.sum(axis=0)
    pooled = _score_of(total, task)[..., None]
    without = np.stack([_score_of(total - own, task) for own in sums], axis=-1)
    return pooled + (n_folds - 1) * (without.mean(-1, keepdims=True) - without)


def _score_of(sums: np.ndarray, task: str) -> np.ndarray:
    """Macro F1, or R², of sums (..., 2, n_classes)."""
    first, second = sums[..., 0, :], sums[..., 1, :]
    if task != "regression":
        return macro_f1_of_counts(first, second)
    explained = second - first
    zero = np.zeros_like(first)
    return np.divide(explained, second, out=zero, where=second > 0)[..., 0]


def class_sums(
    path: CostComplexityPath, counts: np.ndarray, predicted: np.ndarray
) -> np.ndarray:
    """Sum up what macro F1 needs of each subtree, from rows that are counted already.

    ``counts`` (n_nodes, ..., n_classes) are the rows of each class, or of each part and
    class, that pass each node of the unpruned tree; ``predicted`` (n_nodes,) is the
    class that each node predicts where it is a leaf. The sums (n_steps, ..., 2,
    n_classes) are the rows of each class that are predicted as it, and the rows of each
    class plus rows predicted as it.
    """
    n_nodes, n_classes = len(counts), counts.shape[-1]
    is_class = np.eye(n_classes, dtype=counts.dtype)[predicted]
    is_class = is_class.reshape(n_nodes, *[1] * (counts.ndim - 2), n_classes)
    n_predicted = counts.sum(-1, keepdims=True) * is_class
    both = np.stack([counts * is_class, n_predicted], axis=-2)
    sums = pruned_sums(path, both.reshape(n_nodes, -1)).reshape(-1, *both.shape[1:])
    sums[..., 1, :] += counts[0]
    return sums


def value_sums(
    path: CostComplexityPath,
    parts: Sequence[tuple[np.ndarray, ...]],
    loss: Loss = SQUARED_ERROR,
) -> np.ndarray:
    """Sum up what R², or the D² of a loss, needs of each subtree of a regression tree.

    The sums (n_steps, n_parts, 2, 1) are the loss, and that of the root's value alone;
    of several outputs, in standard deviations of each, those of all. Of each part: the
    leaf of the unpruned tree that each row reaches, (n_rows,), its target, or targets
    (n_rows, n_outputs), and its weight, float (n_rows,).
    """
    if loss.is_squared:
        return _beside_root(path, _squared_errors(path.tree, parts).sum(axis=2))
    lost = [_losses(path.tree, *own, loss=loss) for own in parts]
    return _beside_root(path, np.stack(lost, axis=1))


def cost_sums(
    path: CostComplexityPath,
    counts: np.ndarray,
    predicted: np.ndarray,
    costs: np.ndarray,
) -> np.ndarray:
    """Sum up what errors cost in each subtree, from rows that are counted already.

    The sums (n_steps, n_parts, 2, 1) are the cost, and that of the root's prediction
    alone, as the losses of ``value_sums``. ``counts`` (n_nodes, n_parts, n_classes) and
    ``predicted`` are those of ``class_sums``; costs (n_classes, n_classes) are of each
    prediction (column) for a row of each class.
    """
    at_node = (counts * costs.T[predicted][:, None, :]).sum(-1)
    return _beside_root(path, at_node.astype(float))


def _beside_root(path: CostComplexityPath, at_node: np.ndarray) -> np.ndarray:
    """Losses of each subtree, and of the root alone, (n_steps, n_parts, 2, 1)."""
    lost = pruned_sums(path, at_node)
    of_root = np.broadcast_to(at_node[0], lost.shape)
    return np.stack([lost, of_root], axis=2)[..., None]


def pruned_sums(path: CostComplexityPath, at_node: np.ndarray) -> np.ndarray:
    """Add up over the leaves of each subtree what stands at each node.

    ``at_node`` is (n_nodes, n_columns), the sums (n_steps, n_columns).
    """
    first, last = _leaf_steps(path)
    change = np.zeros((len(path) + 1, at_node.shape[1]), dtype=at_node.dtype)
    is_leaf_once = first < last
    np.add.at(change, first[is_leaf_once], at_node[is_leaf_once])
    np.subtract.at(change, last[is_leaf_once], at_node[is_leaf_once])
    return change.cumsum(axis=0)[:-1]


def _leaf_steps(path: CostComplexityPath) -> tuple[np.ndarray, np.ndarray]:
    """From which step on each node is a leaf, and up to which, each int (n_nodes,)."""
    tree = path.tree
    # It is one from the step at which it is cut until one above it is.
    first = np.where(tree.is_leaf, 0, path.step)
    return first, np.concatenate([[len(path)], path.step[tree.parent[1:]]])


def _squared_errors(tree: Tree, parts: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Squared error of the rows of each part that pass a node, by the node's value.

    (n_nodes, n_parts, n_outputs).
    """
    at_leaf, centres = [], []
    for leaf, y, weight in parts:
        y = y if y.ndim == 2 else y[:, None]
        # The mean keeps the squares small and exact.
        centre = y.mean(axis=0) if len(y) else np.zeros(y.shape[1])
        powers = [weight[:, None] * (y - centre) ** power for power in (0, 1, 2)]
        at_leaf.append(_at_leaf(tree, leaf, np.hstack(powers)))
        centres.append(centre)
    sums = sum_up(tree, np.stack(at_leaf, axis=1))
    n_rows, first, second = np.split(sums, 3, axis=2)
    value = tree.value[:, None] - np.stack(centres)
    return np.maximum(second - 2 * value * first + n_rows * value**2, 0.0)


def _at_leaf(tree: Tree, leaf: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Add up columns (n_rows, k) over the rows that end at each node, (n_nodes, k)."""
    sums = [np.bincount(leaf, column, tree.n_nodes) for column in columns.T]
    return np.stack(sums, axis=1)


def _losses(tree: Tree, leaf, y, weight, *, loss: Loss) -> np.ndarray:
    """Loss of the rows that pass a node, by its value, (n_nodes,)."""
    lost = np.zeros(tree.n_nodes)
    for rows, node in rows_by_level(tree, leaf):
        value = tree.value[node] if y.ndim == 2 else tree.value[node, 0]
        cost = weight[rows] * loss.by_row(value, y[rows])
        lost += np.bincount(node, cost, tree.n_nodes)
    return lost


def _r2(path, X, y, weight, leaf) -> np.ndarray:
    """R² at each step, by the prediction of each node's rows; a mean over outputs."""
    tree, y = path.tree, y if y.ndim == 2 else y[:, None]
    # Of the leaves by linear models, maybe.
    squares = (y - tree.predict(X).reshape(len(y), -1)) ** 2
    unpruned = _at_leaf(tree, leaf, weight[:, None] * squares)
    error = _squared_errors(tree, [(leaf, y, weight)])[:, 0]
    lost = pruned_sums(path, np.where(tree.is_leaf[:, None], unpruned, error))
    variation = weight @ (y - np.average(y, axis=0, weights=weight)) ** 2
    variation[np.ptp(y, axis=0) == 0] = np.nan
    return (1 - lost / variation).mean(axis=1)


def pruned_depths(path: CostComplexityPath) -> np.ndarray:
    """Return the depth of each subtree of a path, int (n_steps,)."""
    tree = path.tree
    first, last = _leaf_steps(path)
    steps = np.arange(len(path))[:, None]
    is_leaf = (first <= steps) & (steps < last)  # (n_steps, n_nodes)
    return np.where(is_leaf, tree.level, 0).max(axis=1)


# The trees of a pruning path in one table: strength, scores and sizes.


SCORED = ("valid", "test")  # data splits that did not fit the trees


_ABOUT = {
    "lambda": "Each λ trained a tree of its own: these are different trees, not "
    "prunings of one.",
    "leaves": "The best tree found at each number of leaves.",
    "alpha": "One tree, cut back more and more (cost-complexity pruning).",
}


@dataclass(frozen=True)
class PruningSteps:
    """A pruning path made ready: each tree that is drawn, and a table of scores."""

    # As they are drawn, large to small; some are made only when they are asked for.
    trees: Sequence[Tree]
    table: pd.DataFrame  # a row a step, as the functions below make it
    # The step of the model's own tree, where training chose among them.
    chosen: int | None
    # "lambda", "leaves" or "alpha": trees trained one a strength, the best tree found
    # at each size, or one tree cut back by cost-complexity pruning.
    kind: Literal["lambda", "leaves", "alpha"]
    # By which rule training chose it; "" where a person did, or another rule.
    rule: str = SMALLEST
    fitted: str = "train"  # rows that the trees were fitted to, as ``DataSplit`` has it

    @property
    def labels(self) -> list[str]:
        """A name for each step; no two are alike."""
        leaves = [counted(int(n), "leaf", "leaves") for n in self.table["leaves"]]
        if self.kind != "lambda":  # no two are of one size
            return leaves
        strengths = map(shortest, self.table["strength"])
        return [f"λ {strength}, {n}" for strength, n in zip(strengths, leaves)]

    @property
    def about(self) -> str:
        """What the trees are, in a sentence."""
        return _ABOUT[self.kind]

    @property
    def judged(self) -> pd.DataFrame:
        """The table without scores of validation rows that the trees were fitted to."""
        if self.fitted == "train":
            return self.table
        return self.table.drop(columns="valid_score", errors="ignore")

    def sentences(self) -> str:
        """Say what the trees are, and what their scores are worth."""
        of_training = self.fitted == "train"
        if self.kind == "leaves":
            how = "by cross-validation, each row by a tree that was not fitted to it"
            how = "the validation rows" if of_training else how
            return (
                f"{self.about} Held-out rows: {how}; no test row is among them. Bars: "
                "one standard error."
            )
        words = self.about
        if self.kind == "lambda":
            words += " Validation rows chose λ."
        if not of_training:
            words += (
                " This tree was fitted to the validation rows as well, so its "
                "validation score is too high; the test score is not."
            )
        return words

    @property
    def own(self) -> int:
        """The step of the model's own tree; the largest where nothing chose."""
        return 0 if self.chosen is None else self.chosen

    @property
    def marks(self) -> dict[int, str]:
        """The steps that are worth a mark, each with the words for it.

        Where sizes were scored on held-out rows, what training retained may be the
        smallest within one standard error, that of the difference from the best on the
        same rows.
        """
        if "held_out_score" in self.table:
            rule = "" if self.chosen is None else self.rule
            return {self.own: f"retained, {rule}" if rule else "retained"}
        if judged_by(self.judged) not in self.judged:
            return {self.own: "retained"}
        small = knee_of(self.judged)
        words = f"smallest within {KNEE_TOLERANCE} of the best"
        if small == self.own:
            return {small: f"retained, {words}"}
        return {self.own: "retained", small: words}


def pruning_steps(
    model: Tree | PruningPath,
    path: SizePath | None,
    split: DataSplit,
    fitted: str,
    *,
    has_labels: bool = True,
    tree_alone: bool = False,
) -> PruningSteps:
    """Measure every tree of a model's pruning path; ``path`` are its trees by size.

    ``fitted`` names the rows that the model was fitted to. ``has_labels`` says whether
    the target is known, and is not what the model itself found; ``tree_alone`` whether
    a tree of a PruningPath predicts by its leaves.
    """
    if isinstance(model, PruningPath):
        drawn = model
        if tree_alone:
            drawn = replace(model, predictors=(None,) * len(model))
        trees = tuple(shown_tree(drawn, strength=i) for i in range(len(model)))
        table = trained_path_table(
            model, trees, split if has_labels else None, tree_alone=tree_alone
        )
        return PruningSteps(trees, table, model.chosen, "lambda", fitted=fitted)
    if path is not None and is_scored(path):
        chosen = len(path) - 1 - path.chosen
        table = size_path_table(path, split)
        about = path.trees[::-1], table, chosen
        return PruningSteps(*about, "leaves", path.rule, fitted=fitted)
    tree = shown_tree(model)
    if not knows_impurity(tree):
        tree = tree.with_rows(*split.rows(fitted))
    pruned = cost_complexity_path(tree)
    table = cost_complexity_table(pruned, split)
    return PruningSteps(pruned, table, None, "alpha", fitted=fitted)


def is_scored(path: SizePath) -> bool:
    """Whether the scores of trees by size on held-out rows are known."""
    return bool(path.scores["score"].notna().sum() >= 2)


def trained_path_table(
    path: PruningPath,
    trees: Sequence[Tree],
    split: DataSplit | None,
    *,
    tree_alone: bool = False,
) -> pd.DataFrame:
    """Measure each tree of a path over pruning strengths.

    A row a strength: ``strength``; ``valid_score`` and ``test_score`` (the task's
    headline score), or ``valid_loss``; ``leaves``, ``active_splits`` and
    ``empty_nodes``; ``purity`` where clusters were held against labels. Leaves and
    splits are those of the trees as they are drawn, one a strength. Without a data
    split no labels are known, as a score would hold what the path found against itself.
    Where ``tree_alone``, a tree predicts by its leaves, not by the predictor on top of
    it.
    """
    table = pd.DataFrame({"strength": path.strengths})
    if split is None:
        table["valid_loss"] = path.scores["valid_loss"].to_numpy()
    else:
        for part in SCORED:
            X, y, weight = split.rows(part)
            table[f"{part}_score"] = [
                headline_score(
                    path.task,
                    y,
                    tree.predict(X) if tree_alone else path.predict(X, i),
                    weight,
                )
                for i, tree in enumerate(trees)
            ]
    table["leaves"] = [tree.n_leaves for tree in trees]
    table["active_splits"] = [tree.n_splits for tree in trees]
    table["empty_nodes"] = path.scores.get("empty_nodes", np.nan)
    if "purity" in path.scores:  # of clusters, by labels that no split saw
        table["purity"] = path.scores["purity"].to_numpy()
    return table


def size_path_table(path: SizePath, split: DataSplit) -> pd.DataFrame:
    """Measure each tree of a path by size, the largest first.

    A row a tree: ``strength``, its number of leaves; ``held_out_score`` with its
    ``standard_error``, as the path has them; ``test_score``, ``leaves`` and ``depth``.
    """
    trees = path.trees[::-1]
    own, held_out = trees[0], path.scores[::-1].reset_index(drop=True)
    table = pd.DataFrame({"strength": [tree.n_leaves for tree in trees]})
    table["held_out_score"] = held_out["score"]
    table["standard_error"] = held_out["standard_error"]
    X, y, weight = split.rows("test")
    table["test_score"] = [
        headline_score(own.task, y, tree.predict(X), weight, own.loss) for tree in trees
    ]
    table["leaves"] = table["strength"]
    table["depth"] = [tree.depth for tree in trees]
    return table


def cost_complexity_table(path: CostComplexityPath, split: DataSplit) -> pd.DataFrame:
    """Measure each subtree of a cost-complexity path, from the whole tree to its root.

    A row a step: ``strength`` (alpha), ``valid_score``, ``test_score``, ``leaves`` and
    ``depth``.
    """
    table = pd.DataFrame({"strength": path.alphas})
    loss = path.tree.loss
    for part in SCORED:
        X, y, weight = split.rows(part)
        if loss is None:
            table[f"{part}_score"] = pruned_scores(path, X, y, weight)
            continue
        table[f"{part}_score"] = [
            headline_score("regression", y, tree.predict(X), weight, loss)
            for tree in path
        ]
    table["leaves"] = path.n_leaves
    table["depth"] = pruned_depths(path)
    return table

"""Where trees start: at random, or initialised from a greedy tree of the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.common.complete_tree import lay_out
from treelab.learners.common.objective import Objective
from treelab.learners.common.rows import FoldedRows
from treelab.learners.common.splits import random_splits, write_greedy_splits
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.tree_batch import Candidate, SplitTensors, TreeBatch

MIN_SAMPLES_LEAF = (1, 5, 20)  # of the greedy trees that some restarts start from
MAX_COLUMNS = 384  # features that one tree may use, times its depth
FEWEST_COLUMNS = 32  # that a tree may use, however deep
SHALLOW = 4  # trees of up to this depth get twice the restarts
# With more than two classes a step costs more and trees of all rows mostly win: deeper
# trees at random than the training rows fill, with so many rows a leaf, are left out.
ROWS_A_LEAF = 2
# Threshold where a greedy tree has no split, in the units of `x`: all rows go left, by
# so much that no gradient gets through.
ALWAYS_LEFT = 1e3

GreedySplits = tuple[np.ndarray, np.ndarray]  # feature and threshold, (N,) each


@dataclass(frozen=True)
class StartPlan:
    """Which trees a batch holds, and what each starts from.

    Attributes
    ----------
    depths : tuple of int
        Ascending.
    n_folds : int
        Folds that take turns at being held out.
    n_restarts : int
        Trees of each fold and depth, twice as many of shallow ones. The first are
        initialised from greedy trees, one for each of ``min_samples_leaf``, the rest
        at random.
    min_samples_leaf : tuple of int
        Of the greedy trees, at most ``n_restarts``.
    seed : int
        Breaks the greedy trees' ties.
    max_columns : int, default=384
        A tree may use this many features, divided by its depth, where the table has
        more: those that a greedy tree of its fold uses first, then others at random.
    only_greedy : bool, default=False
        Whether the starts at random are left out.
    """

    depths: tuple[int, ...]
    n_folds: int
    n_restarts: int
    min_samples_leaf: tuple[int, ...]
    seed: int
    max_columns: int = MAX_COLUMNS
    only_greedy: bool = False

    @classmethod
    def of(cls, settings: GradTreeSettings, n_folds: int, seed: int) -> "StartPlan":
        """Plan what the settings ask for."""
        sizes = MIN_SAMPLES_LEAF if settings.greedy_starts else ()
        return cls(
            depths=settings.depths,
            n_folds=n_folds,
            n_restarts=settings.n_restarts,
            min_samples_leaf=sizes[: settings.n_restarts],
            seed=seed,
        )

    def starts(self, depth: int, rows: FoldedRows) -> list[int | None]:
        """List, for each restart of a depth, its greedy leaf size; None: at random."""
        sizes = self.min_samples_leaf
        held_out = int((rows.fold[: rows.n_train] >= 0).sum()) // self.n_folds
        n_shown = rows.n_train - held_out  # rows that each tree trains on
        # Shallow trees cost little and depend most on where they start.
        times = 2 if depth <= SHALLOW else 1
        too_deep = depth > self.depths[0] and n_shown < ROWS_A_LEAF * 2**depth
        if self.only_greedy or (rows.n_classes > 2 and sizes and too_deep):
            return [*sizes]
        return [*sizes, *[None] * (times * self.n_restarts - len(sizes))]


def start_batch(
    rows: FoldedRows,
    y: np.ndarray,
    plan: StartPlan,
    objective: Objective,
    settings: GradTreeSettings,
    generator: torch.Generator,
) -> TreeBatch:
    """Lay out folds x depths x restarts as one batch and give each tree its start.

    Parameters
    ----------
    rows : FoldedRows
        Encoded rows and their folds.
    y : ndarray of shape (n,)
        Class codes or values, for the greedy trees.
    plan : StartPlan
    objective, settings
        For ``TreeBatch``.
    generator : torch.Generator
        On the device of the rows; draws the random starts.
    """
    candidates, sizes = [], []
    for depth in plan.depths:
        starts = plan.starts(depth, rows)
        for fold in range(plan.n_folds):
            candidates += [Candidate(depth, fold, _start_name(n)) for n in starts]
            sizes += starts
    greedy = _greedy_splits_of(candidates, sizes, rows, y, seed=plan.seed)
    splits = []
    for depth in plan.depths:
        trees = [e for e, c in enumerate(candidates) if c.depth == depth]
        own = [greedy.get(e) for e in trees]
        columns = _offered_columns(
            [candidates[e].fold for e in trees],
            [None if g is None else g[0] for g in own],
            rows.x.shape[1],
            max(FEWEST_COLUMNS, plan.max_columns // depth),
            generator,
        )
        splits.append(_initial_splits(rows, depth, own, columns, generator))
    return TreeBatch(rows, candidates, splits, objective, settings)


def greedy_splits(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    depth: int,
    min_samples_leaf: int,
    regression: bool,
    seed: int,
) -> GreedySplits:
    """Grow CART on encoded rows and lay it into a complete tree.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes or values.
    weight : ndarray of shape (n,)
        Rows of weight 0 take no part.
    depth, min_samples_leaf, regression, seed
        Of the greedy tree.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        -1 below CART's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        In the units of `x`; NaN where nothing is split.
    """
    grower = DecisionTreeRegressor if regression else DecisionTreeClassifier
    used = weight > 0
    grown = grower(
        max_depth=depth, min_samples_leaf=min_samples_leaf, random_state=seed
    )
    tree = grown.fit(x[used], y[used], sample_weight=weight[used]).tree_
    return lay_out(tree, depth)[:2]


def _start_name(min_samples_leaf: int | None) -> str:
    """Name what a candidate starts from."""
    if min_samples_leaf is None:
        return "random"
    return f"greedy, {min_samples_leaf} rows a leaf"


def _greedy_splits_of(
    candidates: Sequence[Candidate],
    sizes: Sequence[int | None],
    rows: FoldedRows,
    y: np.ndarray,
    *,
    seed: int,
) -> dict[int, GreedySplits]:
    """Grow the greedy tree of each candidate that starts from one, by its position."""
    x = rows.x.cpu().numpy()
    fold = rows.fold.cpu().numpy()
    weight = rows.weight[:, 0].cpu().numpy().copy()
    weight[rows.n_train :] = 0
    jobs = {
        e: delayed(greedy_splits)(
            x,
            y,
            weight * (fold != candidate.fold),
            depth=candidate.depth,
            min_samples_leaf=size,
            regression=rows.n_classes == 0,
            seed=seed,
        )
        for e, (candidate, size) in enumerate(zip(candidates, sizes))
        if size is not None
    }
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(jobs.values())
    return dict(zip(jobs, grown, strict=True))


def _initial_splits(
    rows: FoldedRows,
    depth: int,
    greedy: Sequence[GreedySplits | None],
    columns: Tensor | None,
    generator: torch.Generator,
) -> SplitTensors:
    """Draw the splits of trees of one depth; write greedy ones over where there are."""
    logits, threshold = random_splits(
        rows.x[: rows.n_train], len(greedy), 2**depth - 1, generator, columns
    )
    for place, splits in enumerate(greedy):
        if splits is None:
            continue
        # The tree stays greedy: no splits below its leaves.
        nothing = torch.as_tensor(splits[0] < 0, device=rows.x.device)
        threshold[place, nothing] = ALWAYS_LEFT
        own = None if columns is None else columns[place]
        write_greedy_splits(logits[place], threshold[place], *splits, own)
    return SplitTensors(logits, threshold, columns)


def _offered_columns(
    folds: list[int],
    greedy_features: list[np.ndarray | None],
    n_features: int,
    n_offered: int,
    generator: torch.Generator,
) -> Tensor | None:
    """Features that each tree may use, (E, K): greedy ones of its fold, then others.

    Parameters
    ----------
    folds : list of E int
    greedy_features : list of E (ndarray of shape (N,) or None)
        Features of the greedy tree that a tree starts from, -1 for none.
    n_features, n_offered : int
        F, and the features that a tree may use unless its greedy tree uses more.
    generator : torch.Generator
        Draws the others.
    """
    device = generator.device
    used = [None if f is None else np.unique(f[f >= 0]) for f in greedy_features]
    n_offered = max([n_offered, *[len(own) for own in used if own is not None]])
    if n_features <= n_offered:
        return None
    rank = torch.rand(len(folds), n_features, generator=generator, device=device)
    for fold in set(folds):
        trees = [e for e, own in enumerate(folds) if own == fold]
        greedy = [own for e in trees if (own := used[e]) is not None]
        if greedy:
            of_fold = torch.as_tensor(np.unique(np.concatenate(greedy)), device=device)
            rank[torch.tensor(trees, device=device)[:, None], of_fold] -= 1
    for e, own in enumerate(used):  # its own splits must be among them
        if own is not None:
            rank[e, torch.as_tensor(own, device=device)] -= 1
    return rank.argsort(1)[:, :n_offered].sort(1).values

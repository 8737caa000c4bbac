"""Where trees start: at random, or as the greedy tree of the same rows."""

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.common.complete_tree import lay_out
from treelab.learners.common.rows import FoldedRows
from treelab.learners.common.splits import random_splits, write_greedy_splits
from treelab.learners.gradtree.tree_batch import Candidate, TreeBatch

SHALLOW = 4  # trees of up to this depth get twice the restarts
# With more than two classes a step costs more and trees of all rows mostly win: deeper
# trees at random than the training rows fill, with so many rows a leaf, are left out.
ROWS_A_LEAF = 2
FEWEST_COLUMNS = 32  # that a tree may use, however deep


# Threshold where a greedy tree has no split, in the units of `x`: all rows go left, by
# so much that no gradient gets through.
ASKS_NOTHING = 1e3


def start_batch(
    rows: FoldedRows,
    y: np.ndarray,
    *,
    depths: Sequence[int],
    n_folds: int,
    n_restarts: int,
    greedy_leaf_rows: Sequence[int],
    max_columns: int,
    generator: torch.Generator,
    seed: int,
    only_greedy: bool = False,
    **settings,
) -> TreeBatch:
    """Lay out folds x depths x restarts as one batch and give each tree its start.

    Parameters
    ----------
    rows : FoldedRows
        Encoded rows and their folds.
    y : ndarray of shape (n,)
        Class codes or values, for the greedy trees.
    depths : sequence of int
        Ascending.
    n_restarts : int
        Trees of each fold and depth, twice as many of shallow ones. The first start as
        greedy trees, one for each of `greedy_leaf_rows`, the rest at random.
    greedy_leaf_rows : sequence of int
        Fewest rows in a leaf of the greedy trees.
    max_columns : int
        A tree may use this many features, divided by its depth, where the table has
        more: those that a greedy tree of its fold uses first, then others at random.
    only_greedy : bool, default=False
        Whether the starts at random are left out.
    **settings
        For `TreeBatch`.
    """
    sizes = tuple(greedy_leaf_rows[:n_restarts])
    candidates, greedy = [], {}
    x = rows.x.cpu().numpy()
    weight = rows.weight[:, 0].cpu().numpy()
    fold_of_row = rows.fold.cpu().numpy()
    held_out = (fold_of_row[: rows.n_train] >= 0).sum() // n_folds
    n_shown = rows.n_train - held_out  # rows that each tree trains on
    for depth in depths:
        # Shallow trees cost little and depend most on where they start.
        times = 2 if depth <= SHALLOW else 1
        too_deep = depth > depths[0] and n_shown < ROWS_A_LEAF * 2**depth
        left_out = only_greedy or (rows.n_classes > 2 and sizes and too_deep)
        at_random = 0 if left_out else times * n_restarts - len(sizes)
        starts = [*sizes, *[None] * at_random]
        for fold in range(n_folds):
            trained_on = weight * (fold_of_row != fold)
            trained_on[rows.n_train :] = 0
            for size in starts:
                name = "random" if size is None else f"greedy, {size} rows a leaf"
                if size is not None:
                    greedy[len(candidates)] = delayed(greedy_splits)(
                        x,
                        y,
                        trained_on,
                        depth=depth,
                        min_leaf_rows=size,
                        regression=rows.n_classes == 0,
                        seed=seed,
                    )
                candidates.append(Candidate(depth, fold, name))
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(greedy.values())
    planted = dict(zip(greedy, grown, strict=True))
    of_depth = np.array([c.depth for c in candidates])
    columns, logits, threshold = [], [], []
    for depth in depths:
        trees = np.flatnonzero(of_depth == depth)
        offered = _columns(
            [candidates[e].fold for e in trees],
            [planted[e][0] if e in planted else None for e in trees],
            x.shape[1],
            max(FEWEST_COLUMNS, max_columns // depth),
            generator,
        )
        drawn = random_splits(
            rows.x[: rows.n_train], len(trees), 2**depth - 1, generator, offered
        )
        for place, tree in enumerate(trees):
            if tree in planted:  # it stays greedy: no splits below its leaves
                nothing = torch.as_tensor(planted[tree][0] < 0, device=rows.x.device)
                drawn[1][place, nothing] = ASKS_NOTHING
                own = None if offered is None else offered[place]
                splits = drawn[0][place], drawn[1][place]
                write_greedy_splits(*splits, *planted[tree], own)
        columns.append(offered)
        logits.append(drawn[0])
        threshold.append(drawn[1])
    return TreeBatch(rows, candidates, logits, threshold, columns, **settings)


def greedy_splits(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    depth: int,
    min_leaf_rows: int,
    regression: bool,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow CART on encoded rows and lay it into a complete tree.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes or values.
    weight : ndarray of shape (n,)
        Rows of weight 0 take no part.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        -1 below CART's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        In the units of `x`; NaN where nothing is split.
    """
    grower = DecisionTreeRegressor if regression else DecisionTreeClassifier
    used = weight > 0
    grown = grower(max_depth=depth, min_samples_leaf=min_leaf_rows, random_state=seed)
    tree = grown.fit(x[used], y[used], sample_weight=weight[used]).tree_
    return lay_out(tree, depth)[:2]


def _columns(folds, planted, n_features, n_offered, generator) -> Tensor | None:
    """Features that each tree may use, (E, K): greedy ones of its fold, then others.

    Parameters
    ----------
    folds : list of E int
    planted : list of E (ndarray of shape (N,) or None)
        Features of the greedy tree that a tree starts from, -1 for none.
    """
    device = generator.device
    used = [None if p is None else np.unique(p[p >= 0]) for p in planted]
    n_offered = max([n_offered, *[len(own) for own in used if own is not None]])
    if n_features <= n_offered:
        return None
    rank = torch.rand(len(folds), n_features, generator=generator, device=device)
    for fold in set(folds):
        trees = [e for e, own in enumerate(folds) if own == fold]
        greedy = [used[e] for e in trees if used[e] is not None]
        if greedy:
            greedy = torch.as_tensor(np.unique(np.concatenate(greedy)), device=device)
            rank[torch.tensor(trees, device=device)[:, None], greedy] -= 1
    for e, own in enumerate(used):  # its own splits must be among them
        if own is not None:
            rank[e, torch.as_tensor(own, device=device)] -= 1
    return rank.argsort(1)[:, :n_offered].sort(1).values

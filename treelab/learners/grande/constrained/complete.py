"""Complete trees in order, and without leaves of few rows: kernels over many trees.

Shapes: E trees of N splits and L = N + 1 leaves, breadth first, C outputs a leaf.
"""

import numpy as np
from numba import njit

from treelab.ops.threads import OPTIONS

NOWHERE = 1e6  # an encoded threshold that every row is below; above: its negative
MOST_ROUNDS = 500  # of averaging pairs of leaves; few are ever needed


@njit(**OPTIONS)
def interval(feature, threshold, leaf, wanted):
    """Return which encoded values of a feature, low < x <= high, reach a leaf."""
    low, high = -np.inf, np.inf
    node = leaf + len(feature)
    while node > 0:
        is_right = node % 2 == 0
        node = (node - 1) // 2
        if feature[node] == wanted:
            if is_right:
                low = max(low, threshold[node])
            else:
                high = min(high, threshold[node])
    return low, high


@njit(**OPTIONS)
def order_of(feature, threshold, sign, first, second):
    """Whether a leaf must not exceed another (1), the other it (-1), or neither (0).

    Their boxes meet in every feature but one that has a sign, and there one lies
    below the other.
    """
    n_apart, order = 0, 0
    for leaf in (first, second):
        node = leaf + len(feature)
        while node > 0:
            node = (node - 1) // 2
            own = feature[node]
            is_known = False  # from a split above on this path, or the other path's
            above = node
            while above > 0:
                above = (above - 1) // 2
                is_known |= feature[above] == own
            if leaf == second:
                other = first + len(feature)
                while other > 0:
                    other = (other - 1) // 2
                    is_known |= feature[other] == own
            if is_known:
                continue
            low, high = interval(feature, threshold, first, own)
            other_low, other_high = interval(feature, threshold, second, own)
            if low >= high or other_low >= other_high:
                return 0  # no row reaches one of them
            if max(low, other_low) >= min(high, other_high):
                n_apart += 1
                order = sign[own] if high <= other_low else -sign[own]
    return order if n_apart == 1 else 0


@njit(**OPTIONS)
def put_in_order(feature, threshold, sign, output_sign, value):
    """Move leaf values to where no monotone column is broken, in place.

    Pairs of leaves that are out of order take their mean, again and again; what is left
    then is raised. Near the values that were, and in order.

    Parameters
    ----------
    feature : int64 array of shape (E, N)
    threshold : float32 array of shape (E, N)
        Encoded: a row goes left where it is no larger.
    sign : int64 array of shape (F,)
        1 where a feature must raise the prediction, -1 lower, else 0.
    output_sign : int64 array of shape (C,)
        1 where an output grows with the prediction, -1 where it falls.
    value : float32 array of shape (E, L, C)
    """
    n_trees, n_leaves, n_outputs = value.shape
    pairs = np.empty((n_leaves * n_leaves, 2), dtype=np.int64)
    for e in range(n_trees):
        n_pairs = 0
        if np.any(sign[feature[e]] != 0):
            for a in range(n_leaves):
                for b in range(a + 1, n_leaves):
                    order = order_of(feature[e], threshold[e], sign, a, b)
                    if order != 0:
                        pairs[n_pairs, 0] = a if order > 0 else b
                        pairs[n_pairs, 1] = b if order > 0 else a
                        n_pairs += 1
        for c in range(n_outputs):
            own = value[e, :, c] * output_sign[c]
            for _ in range(MOST_ROUNDS):
                moved = False
                for p in range(n_pairs):
                    low, high = pairs[p]
                    if own[low] > own[high]:
                        own[low] = own[high] = (own[low] + own[high]) / 2
                        moved = True
                if not moved:
                    break
            for _ in range(n_leaves):
                for p in range(n_pairs):
                    low, high = pairs[p]
                    own[high] = max(own[high], own[low])
            value[e, :, c] = own * output_sign[c]


@njit(**OPTIONS)
def close_small(x, rows, feature, threshold, least):
    """Close splits that leave a side fewer rows than asked, in place.

    All rows then go to the larger side, so that no leaf that is reached has too few.

    Parameters
    ----------
    x : float32 array of shape (n, F)
    rows : int64 array of shape (m,)
        Those that count.
    feature : int64 array of shape (E, N)
    threshold : float32 array of shape (E, N)
        Becomes ``NOWHERE`` where all rows go left, its negative where right.
    least : int
        Rows in a leaf.
    """
    n_trees, n_splits = feature.shape
    node = np.empty(len(rows), dtype=np.int64)
    n_left = np.empty(n_splits, dtype=np.int64)
    n_right = np.empty(n_splits, dtype=np.int64)
    for e in range(n_trees):
        node[:] = 0
        first = 0
        while first < n_splits:  # level by level
            last = 2 * first + 1
            n_left[first:last] = 0
            n_right[first:last] = 0
            for i in range(len(rows)):
                t = node[i]
                if x[rows[i], feature[e, t]] <= threshold[e, t]:
                    n_left[t] += 1
                else:
                    n_right[t] += 1
            for t in range(first, last):
                if min(n_left[t], n_right[t]) < least:
                    is_left = n_left[t] >= n_right[t]
                    threshold[e, t] = NOWHERE if is_left else -NOWHERE
            for i in range(len(rows)):
                t = node[i]
                goes_left = x[rows[i], feature[e, t]] <= threshold[e, t]
                node[i] = 2 * t + (1 if goes_left else 2)
            first = last

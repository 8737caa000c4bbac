"""Node activity on a thousand random and awkward programs, by three methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.activity_reference import (
    by_kernel,
    by_torch,
    conic,
    pooled,
    pooled_gradient,
)

KINDS = ("normal", "ties", "equal", "negative", "huge", "sparse")
WILD = (1e-3, 0.1, 1.0, 10.0, 1e4), (0.0, 1.0, 100.0)  # penalties, sizes of preferences
MILD = (0.1, 1.0, 10.0), (0.0, 1.0)  # where a conic solver is sure to 1e-5


def program(kind, depth, n_rows, seed, sizes=WILD):
    """Scores (nodes, rows), preferences (nodes,) and a penalty."""
    rng = np.random.default_rng(seed)
    shape = (2 ** (depth + 1) - 1, n_rows)
    score = {
        "normal": lambda: rng.normal(size=shape),
        "ties": lambda: rng.integers(-2, 6, size=shape) / 4,
        "equal": lambda: np.full(shape, rng.uniform(-1, 2)),
        "negative": lambda: -rng.uniform(size=shape),
        "huge": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(0, 7),
        "sparse": lambda: rng.uniform(size=shape) * (rng.uniform(size=shape) < 0.2),
    }[kind]()
    preference = rng.normal(size=shape[0]) * rng.choice(sizes[1])
    return score, preference, float(rng.choice(sizes[0]))


def solved(parts, dtype=np.float64, solve=by_kernel, known=None):
    """Activity of one program by our own code, and the gradient by what is known."""
    score, preference, penalty = parts
    known = np.zeros(len(preference)) if known is None else known
    given = (part.astype(dtype) for part in (score, preference))
    return solve(*given, penalty, known.astype(dtype))


# Programs are few where trees are deep: the reference is slow.
MANY = [(1, 50), (2, 50), (3, 40), (4, 20), (5, 10)]
MANY += [(6, 5), (7, 2), (8, 1), (9, 1), (10, 1)]
FEW = [(1, 4), (3, 12), (6, 2)]
SIZES = [*FEW, *(pytest.param(*size, marks=pytest.mark.slow) for size in MANY)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("depth", "n_programs"), SIZES)
def test_activity_agrees_with_pooling_on_a_thousand_programs(depth, n_programs, kind):
    for seed in range(n_programs):
        parts = program(kind, depth, 1 + seed % 12, seed)
        expected = pooled(*parts)
        for solve in (by_kernel, by_torch):
            for dtype, near in ((np.float64, 1e-9), (np.float32, 3e-6)):
                found = solved(parts, dtype, solve)[0]
                np.testing.assert_allclose(
                    found, expected, atol=near, err_msg=str(seed)
                )


@pytest.mark.parametrize("solve", [by_kernel, by_torch])
@pytest.mark.parametrize("depth", range(1, 9))
def test_gradients_agree_with_those_of_the_pooled_groups(depth, solve):
    for seed in range(40 if depth < 5 else 3):
        parts = program("normal", depth, 1 + seed % 12, seed)
        known = np.random.default_rng(seed).normal(size=len(parts[1]))
        _, *gradients = solved(parts, solve=solve, known=known)
        for ours, wanted in zip(gradients, pooled_gradient(*parts, known)):
            np.testing.assert_allclose(ours, wanted, atol=1e-9, rtol=1e-7)


def conic_cases(depths, seeds, marks=()):
    return [
        pytest.param(kind, depth, seed, id=f"{kind}-{depth}-{seed}", marks=marks)
        for kind in KINDS
        if kind != "huge"
        for depth in depths
        for seed in seeds
    ]


@pytest.mark.parametrize(
    ("kind", "depth", "seed"),
    conic_cases((2, 5), (1,))
    + conic_cases((6, 7), range(2), pytest.mark.slow)  # others are of the thousand
    + conic_cases((8, 9, 10), (0,), pytest.mark.slow),
)
def test_awkward_programs_agree_with_a_conic_solver(kind, depth, seed):
    parts = program(kind, depth, 1 + 3 * seed, seed, MILD)
    np.testing.assert_allclose(solved(parts)[0], conic(*parts), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "huge"])
def test_a_thousand_programs_agree_with_a_conic_solver(kind):
    for seed in range(200):
        parts = program(kind, 1 + seed % 5, 1 + seed % 12, seed, MILD)
        np.testing.assert_allclose(
            solved(parts)[0], conic(*parts), atol=1e-5, err_msg=f"seed {seed}"
        )


@settings(max_examples=100)
@given(
    st.sampled_from(KINDS), st.integers(0, 5), st.integers(1, 12), st.integers(0, 2**31)
)
def test_torch_and_the_cpu_kernels_agree(kind, depth, n_rows, seed):
    parts = program(kind, depth, n_rows, seed)
    ours, theirs = solved(parts), solved(parts, solve=by_torch)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-9)

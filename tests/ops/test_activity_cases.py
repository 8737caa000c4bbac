"""Node activity on thousands of random and awkward programs, by three methods."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.activity_reference import judged, pooled, pooled_gradient
from treelab.ops.activity_solve import ActivityInTorch, solve_activity

KINDS = ("normal", "ties", "equal", "negative", "huge", "sparse")
WILD = (1e-3, 0.1, 1.0, 10.0, 1e4), (0.0, 1.0, 100.0)  # prices, sizes of pulls
MILD = (0.1, 1.0, 10.0), (0.0, 1.0)  # where a conic solver is sure to 1e-5


def program(kind, depth, n_rows, seed, sizes=WILD):
    """Targets (nodes, rows), pulls (nodes,) and a price."""
    rng = np.random.default_rng(seed)
    shape = (2 ** (depth + 1) - 1, n_rows)
    target = {
        "normal": lambda: rng.normal(size=shape),
        "ties": lambda: rng.integers(-2, 6, size=shape) / 4,
        "equal": lambda: np.full(shape, rng.uniform(-1, 2)),
        "negative": lambda: -rng.uniform(size=shape),
        "huge": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(0, 7),
        "sparse": lambda: rng.uniform(size=shape) * (rng.uniform(size=shape) < 0.2),
    }[kind]()
    pull = rng.normal(size=shape[0]) * rng.choice(sizes[1])
    return target, pull, float(rng.choice(sizes[0]))


def solved(parts, dtype=torch.float64, solve=solve_activity):
    """Activity of one program by our own code."""
    target, pull, price = parts
    return solve(
        torch.tensor(target, dtype=dtype)[None],
        torch.tensor(pull, dtype=dtype)[None],
        torch.tensor([price], dtype=dtype),
    )[0].numpy()


# Programs are few where trees are deep: the reference is slow.
SIZES = [(1, 100), (2, 100), (3, 80), (4, 40), (5, 20)]
SIZES += [(6, 8), (7, 3), (8, 2), (9, 1), (10, 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("depth", "n_programs"), SIZES)
def test_thresholds_agree_with_pooling_on_thousands_of_programs(
    depth, n_programs, kind
):
    for seed in range(n_programs):
        parts = program(kind, depth, 1 + seed % 12, seed)
        expected = pooled(*parts)
        np.testing.assert_allclose(solved(parts), expected, atol=1e-9)
        np.testing.assert_allclose(
            solved(parts, torch.float32), expected, atol=3e-6, err_msg=f"seed {seed}"
        )


@pytest.mark.parametrize("depth", range(1, 9))
def test_gradients_agree_with_those_of_the_pooled_groups(depth):
    for seed in range(40 if depth < 5 else 3):
        target, pull, price = program("normal", depth, 1 + seed % 12, seed)
        known = np.random.default_rng(seed).normal(size=len(pull))
        given = [
            torch.tensor(part, dtype=torch.float64)[None].requires_grad_()
            for part in (target, pull, price)
        ]
        (solve_activity(*given)[0] @ torch.tensor(known)).backward()
        wanted = pooled_gradient(target, pull, price, known)
        for part, gradient in zip(given, wanted):
            np.testing.assert_allclose(part.grad[0], gradient, atol=1e-9, rtol=1e-7)


def conic_cases(depths, seeds):
    return [
        pytest.param(kind, depth, seed, id=f"{kind}-{depth}-{seed}")
        for kind in KINDS
        if kind != "huge"
        for depth in depths
        for seed in seeds
    ]


@pytest.mark.parametrize(
    ("kind", "depth", "seed"),
    conic_cases(range(1, 8), range(2)) + conic_cases((8, 9, 10), range(1)),
)
def test_awkward_programs_agree_with_a_conic_solver(kind, depth, seed):
    parts = program(kind, depth, 1 + 3 * seed, seed, MILD)
    np.testing.assert_allclose(solved(parts), judged(*parts), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "huge"])
def test_a_thousand_programs_agree_with_a_conic_solver(kind):
    for seed in range(200):
        parts = program(kind, 1 + seed % 5, 1 + seed % 12, seed, MILD)
        np.testing.assert_allclose(
            solved(parts), judged(*parts), atol=1e-5, err_msg=f"seed {seed}"
        )


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 5),
    st.integers(1, 12),
    st.integers(0, 2**31),
)
def test_torch_and_the_cpu_kernels_agree(kind, depth, n_rows, seed):
    target, pull, price = program(kind, depth, n_rows, seed)
    np.testing.assert_allclose(
        solved((target, pull, price)),
        solved((target, pull, price), solve=ActivityInTorch.apply),
        atol=1e-9,
    )

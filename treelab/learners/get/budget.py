"""What GET may spend on a tree, and what else its training needs to know."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What may be spent, in the same numbers on every table.

    ``steps`` gradient steps in each stage; ``n_grown`` trained trees that are grown to
    full depth, as are two that are greedy throughout (by columns, by sums of them),
    each with ``n_leaf_rows`` sizes of a leaf; ``rounds`` of polish, with
    ``polish_steps`` gradient steps a level; ``n_teachers`` trees in the bag that
    teaches a tree with formulas.
    """

    steps: int
    n_grown: int
    n_leaf_rows: int
    rounds: int
    polish_steps: int
    n_teachers: int


BUDGETS = {
    "quick": Budget(
        steps=150, n_grown=1, n_leaf_rows=1, rounds=0, polish_steps=0, n_teachers=0
    ),
    "standard": Budget(
        steps=1500, n_grown=3, n_leaf_rows=3, rounds=2, polish_steps=300, n_teachers=12
    ),
    "thorough": Budget(
        steps=5000, n_grown=5, n_leaf_rows=3, rounds=4, polish_steps=800, n_teachers=30
    ),
}


@dataclass(frozen=True)
class GetSettings:
    """Settings of the estimators, checked, with the depth decided."""

    depth: int
    n_starts: int
    budget: Budget
    max_epochs: int | None
    batch_size: int
    learning_rate: float
    learning_rate_leaves: float
    l1: float
    linear: bool
    polish: bool
    sparse_tolerance: float

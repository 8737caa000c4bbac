"""Fits that run side by side, up to each training, and train as one batch there.

A fit is a generator: it yields what it wants trained, and is sent the trees.
"""

from collections.abc import Generator, Hashable, Sequence
from typing import TypeVar

from treelab.learners.gradtree.annealing import Training, train
from treelab.learners.gradtree.hard_tree import HardTree

Result = TypeVar("Result")
Trained = tuple[list[HardTree], bool]
"""The trees, in the order of their starts, and whether a callback stopped them."""
Fit = Generator[Training, Trained, Result]


def run_together(fits: Sequence[Fit[Result]]) -> list[Result]:
    """Run fits on the same rows to their ends; those that agree train as one batch.

    See ``Training.agreement``.
    """
    results: dict[int, Result] = {}
    wanted: dict[int, Training] = {}

    def go_on(number: int, trained: Trained | None) -> None:
        """Run a fit to its next training, or its end."""
        wanted.pop(number, None)
        try:
            wanted[number] = fits[number].send(trained)  # type: ignore[arg-type]
        except StopIteration as end:
            results[number] = end.value

    for number in range(len(fits)):
        go_on(number, None)
    while wanted:
        batches: dict[Hashable, list[int]] = {}
        for number, training in wanted.items():
            batches.setdefault(training.agreement, []).append(number)
        for batch in batches.values():
            trees, stopped = train([wanted[number] for number in batch])
            hard = trees.hard_trees()
            for place, number in enumerate(batch):
                go_on(number, ([hard[e] for e in trees.trees_of(place)], stopped))
    return [results[number] for number in range(len(fits))]

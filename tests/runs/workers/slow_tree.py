"""A learner for the tests: CART that takes its time and fails where it has to."""

import time

from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.common.settings import LearnerSpec, Setting
from treelab.learners.registry import LEARNERS
from treelab.training.events import Progress, notify


class SlowTree(CartClassifier):
    """Reports ``epochs`` times, ``pause`` seconds apart; fails at ``fail_at``."""

    def __init__(
        self, epochs=5, *, pause=0.0, fail_at=None, random_state=None, device="auto"
    ):
        super().__init__(
            tune=False, max_depth=3, random_state=random_state, device=device
        )
        self.epochs = epochs
        self.pause = pause
        self.fail_at = fail_at

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Grow the tree, then pretend to work on it."""
        super().fit(X, y, X_valid=X_valid, y_valid=y_valid)
        for epoch in range(1, self.epochs + 1):
            time.sleep(self.pause)
            if epoch == self.fail_at:
                raise FloatingPointError("The loss was not a number from epoch 3 on.")
            report = Progress(
                epoch,
                self.epochs,
                1 / epoch,
                2 / epoch,
                self.pause * epoch,
                snapshot=lambda: self.model_,
            )
            if notify(callbacks, report):
                break
        return self


SPEC = LearnerSpec(
    key="slow",
    title="Slow tree",
    summary="",
    paper="",
    classifier="tests.runs.workers.slow_tree:SlowTree",
    regressor="tests.runs.workers.slow_tree:SlowTree",
    settings=(
        Setting("epochs", "Epochs", "", "int", 5, 1),
        Setting("pause", "Pause", "", "float", 0.0, 0),
        Setting("fail_at", "", "", "int", None, 1),
    ),
)


def register() -> None:
    """Let the registry know the learner."""
    LEARNERS[SPEC.key] = SPEC

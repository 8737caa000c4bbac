"""How GET finds its tree: starts, stages, growth, pruning, polish, sparse splits.

The upper levels of several trees are trained together from soft to hard. The best are
grown on greedily, pruned on the validation rows, and the best of these is polished
subtree by subtree. Where leaves hold formulas, a bag of trees teaches: the one tree is
grown and fitted to what the bag says of the rows, and of rows that it imagines.
"""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from treelab.learners.get.bagging import teach
from treelab.learners.get.budget import GetSettings
from treelab.learners.get.gain import formula_splits
from treelab.learners.get.network import GetNetwork
from treelab.learners.get.polish import polish_level, warm_cosine
from treelab.learners.get.prune import prune_on
from treelab.learners.get.sparse import sparse_splits
from treelab.learners.get.starts import greedy_splits, random_splits
from treelab.learners.get.trees import HardTrees, Rows, evenly_spread, join
from treelab.training.events import REPORT_SECONDS, Monitor, Progress, notify
from treelab.training.loop import TrainingPlan, train

STAGES = (("soft splits", 5.0, 25.0), ("hard splits", 50.0, 150.0))  # scale factors
TRAINED_DEPTH = {False: 6, True: 4}  # levels trained as a whole; by linear leaves
LEAF_ROWS = (5, 2, 10)  # fewest in a leaf that is a constant, as grown
# The same for formulas, and the rows that draw a formula to the one above it.
FORMULA_ROWS = ((20, 3.0), (40, 30.0))
KEPT_SHARE = 0.7  # of the starts goes on; the hard loss of soft trees says little yet
EVALUATIONS = 15  # looks at the hard loss in a stage
WEIGHT_DECAY = 1e-4
POLISH_SHARE = 0.4  # of the epochs, added for growth and polish in what is reported


# Matrices are small here: BLAS threads that wait for the next one only hold the cores.
@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_trees(
    rows: Rows,
    valid: Rows,
    settings: GetSettings,
    rng: np.random.Generator,
    *,
    joins: bool,
    callbacks: Sequence,
    snapshot: Callable[[HardTrees], object],
    started: float,
) -> tuple[HardTrees, list, Rows | None]:
    """Find the best tree for the validation rows.

    Parameters
    ----------
    rows, valid : Rows
        Training rows, and those that choose.
    settings : GetSettings
    rng : numpy Generator
    joins : bool
        Whether the validation rows join the others for the leaves of the end.
    callbacks : sequence of callable
        Hear each ``Progress``; a True stops, and the best tree so far is pruned and
        returned.
    snapshot : callable
        Turns a batch of one tree into what a ``Progress`` shows.
    started : float
        ``time.monotonic()`` when the fit began.

    Returns
    -------
    trees : HardTrees
        A batch of one tree.
    history : list of tuple
        Rows of ``history_``.
    taught : Rows or None
        What the leaves of the end are fitted to, where a bag of trees taught: the rows
        (joined by the validation rows), then those that the bag imagined.
    """
    fitting = _Fitting(rows, valid, settings, rng, callbacks, snapshot, started)
    trained = fitting.train_stages()
    fitting.learn_from_bag()
    tree = fitting.grow(trained)
    if settings.polish:
        tree = fitting.polish(tree)
    tree = sparse_splits(tree, fitting.told, valid, settings.sparse_tolerance)
    return tree, fitting.history, fitting.taught(joins)


class _Fitting:
    """One fit under way: its data, its clock, and whether it was asked to stop."""

    def __init__(self, rows, valid, settings, rng, callbacks, snapshot, started):
        self.rows, self.valid, self.settings, self.rng = rows, valid, settings, rng
        self.callbacks, self.snapshot, self.started = callbacks, snapshot, started
        self.history = []
        self.stopped = False
        self.told = rows  # what trees are grown on: the rows, or what a bag says
        self.recipe = None  # of the bag
        self.last_lesson = None  # the seed of what it says of all rows
        self.shown = None  # the tree, its losses and the stage that were reported last
        self.reported = time.monotonic()
        batches = max(1, math.ceil(len(rows.x) / settings.batch_size))
        epochs = math.ceil(settings.budget.steps / batches)
        self.epochs = [epochs] * len(STAGES)
        if settings.max_epochs is not None:
            first = math.ceil(settings.max_epochs / 2)
            self.epochs = [first, settings.max_epochs - first]
        self.n_batches = batches
        self.total_epochs = math.ceil(sum(self.epochs) * (1 + POLISH_SHARE))

    def train_stages(self) -> HardTrees:
        """Train the upper levels of all starts; the best on validation come first."""
        settings = self.settings
        trees = self._starts(min(settings.depth, TRAINED_DEPTH[settings.linear]))
        losses = self.valid.loss(trees.answers(self.valid.x))
        generator = torch.Generator(self.rows.device)
        generator.manual_seed(int(self.rng.integers(2**31)))
        for stage, (name, low, high) in enumerate(STAGES):
            n_epochs = self.epochs[stage]
            if n_epochs == 0 or self.stopped:
                continue
            spread = evenly_spread(trees.weights, trees.threshold, self.rows.x)
            trees = HardTrees.fit(*spread, self.rows, linear=settings.linear)
            scale_factor = self.rng.uniform(low, high, len(losses))
            network = GetNetwork(
                trees, scale_factor, self.rows, self.valid, settings.l1
            )
            optimizer = self._optimizer(network)
            result = train(
                network,
                optimizer,
                TrainingPlan(
                    n_rows=len(self.rows.x),
                    batch_size=settings.batch_size,
                    max_epochs=n_epochs,
                    patience=n_epochs,
                    evaluate_every=max(1, n_epochs // EVALUATIONS),
                ),
                generator=generator,
                monitor=Monitor(
                    self.total_epochs,
                    self.callbacks,
                    snapshot=lambda network=network: self._leader(network),
                    stage=name,
                    epoch_offset=sum(self.epochs[:stage]),
                    started=self.started,
                    history=self.history,
                ),
                scheduler=warm_cosine(optimizer, n_epochs * self.n_batches),
            )
            after = network.hard_trees()
            found = result.best_loss.cpu().numpy().astype(np.float64)
            trees = _better(trees, losses, after, found, self.rows)
            losses = np.minimum(losses, np.where(np.isnan(found), np.inf, found))
            n_kept = max(self.settings.budget.n_grown, round(KEPT_SHARE * len(losses)))
            best = np.argsort(losses, kind="stable")[:n_kept]
            trees, losses = trees.take(best), losses[best]
            if result.reason == "callback":
                self.stopped = True
                break
        return trees

    def learn_from_bag(self):
        """Let a bag of trees say what it thinks of the training rows."""
        n_trees = self.settings.budget.n_teachers
        if not (self.settings.linear and n_trees) or self.stopped:
            return
        self.last_lesson = self.rng.integers(2**31)  # the same with and without polish
        found = teach(self.rows, n_trees, self.rng, stop=self._beat_in_growth)
        if found is not None:
            self.told, self.recipe = found

    def taught(self, joins: bool) -> Rows | None:
        """What a bag says of all rows, for the leaves of the end."""
        if self.recipe is None or self.stopped:
            return None
        if not joins:
            return self.told
        rows = join(self.rows, self.valid)
        n_trees = self.settings.budget.n_teachers
        rng = np.random.default_rng(self.last_lesson)
        return teach(rows, n_trees, rng, recipes=[self.recipe])[0]

    def grow(self, trained: HardTrees) -> HardTrees:
        """Grow the best trained trees and greedy ones on; prune; keep the best."""
        settings = self.settings
        tops = [
            (trained.weights[e], trained.threshold[e])
            for e in range(min(settings.budget.n_grown, len(trained.weights)))
        ]
        if self.stopped:
            return self._pruned(*tops[0])[0]
        sizes = FORMULA_ROWS if settings.linear else LEAF_ROWS
        sizes = sizes[: settings.budget.n_leaf_rows]
        # Greedy from the root, by columns alone and by sums of them, or below the tops.
        kinds = [{}, *[{"top": top} for top in tops]]
        if not settings.linear:
            kinds.insert(0, {"oblique": False})
        tried = [(kind, size) for kind in kinds for size in sizes]
        best, best_loss = None, math.inf
        for number, (kind, size) in enumerate(tried):
            splits = self._greedy(settings.depth, size, **kind)
            tree, loss = self._pruned(*splits)
            if loss < best_loss or best is None:
                best, best_loss = tree, loss
            epoch = self._late_epoch((number + 1) / len(tried) / 4)
            if self._report(epoch, best, best_loss, "growth"):
                break
        return best

    def polish(self, tree: HardTrees) -> HardTrees:
        """Polish level by level, bottom up; keep a level where validation agrees."""
        settings = self.settings
        rates = (settings.learning_rate, settings.learning_rate_leaves)
        depth = tree.threshold.shape[1].bit_length()
        loss, train_loss = self._valid_loss(tree), self._train_loss(tree)
        rounds = settings.budget.rounds
        if self.recipe is not None:  # a tree that was taught has little to gain
            rounds = math.ceil(rounds / 2)
        n_levels = rounds * depth
        for turn in range(rounds):
            gained = False
            for level in range(depth - 1, -1, -1):
                begun = turn * depth + depth - 1 - level
                polished = polish_level(
                    tree,
                    self.told,
                    level,
                    settings.budget.polish_steps,
                    rates,
                    self.rng,
                    stop=lambda share, begun=begun: self._beat(
                        (1 + 3 * (begun + share) / n_levels) / 4
                    ),
                )
                polished_loss = self._valid_loss(polished)
                polished_train_loss = self._train_loss(polished)
                if polished_loss < loss and polished_train_loss <= train_loss:
                    tree, loss, train_loss = (
                        polished,
                        polished_loss,
                        polished_train_loss,
                    )
                    gained = True
                if self.stopped:
                    return tree
                epoch = self._late_epoch((1 + 3 * (begun + 1) / n_levels) / 4)
                self._report(epoch, tree, loss, "polish")
            if not gained:
                break
        return tree

    def _starts(self, depth: int) -> HardTrees:
        """The first is a CART tree; then greedy oblique and random ones take turns."""
        found, best, best_loss = [], None, math.inf
        for start in range(self.settings.n_starts):
            if start and start % 2 == 0:
                splits = random_splits(self.rows.x, depth, self.rng)
            else:
                splits = self._greedy(depth, oblique=start > 0)
            found.append(splits)
            tree = self._fitted(*splits)
            loss = self._valid_loss(tree)
            if best is None or loss < best_loss:
                best, best_loss = tree, loss
            if self._report(0, best, best_loss, "starts"):
                break
        weights, threshold = map(np.stack, zip(*found))
        return HardTrees.fit(weights, threshold, self.rows, linear=self.settings.linear)

    def _greedy(self, depth, size=None, **options):
        """Greedy splits on what the trees are told."""
        told = self.told
        if not self.settings.linear:
            return greedy_splits(
                told.x,
                told.target,
                told.weight,
                depth,
                self.rng,
                min_leaf_rows=size or LEAF_ROWS[0],
                **options,
            )
        min_leaf_rows, penalty = size or FORMULA_ROWS[0]
        return formula_splits(
            told.x,
            told.y,
            depth,
            self.rng,
            min_leaf_rows=min_leaf_rows,
            penalty=penalty,
            **options,
        )

    def _pruned(self, weights, threshold) -> tuple[HardTrees, float]:
        """One tree pruned on the validation rows, and its loss there."""
        return prune_on(self._fitted(weights, threshold), self.told, self.valid)

    def _fitted(self, weights, threshold) -> HardTrees:
        """A batch of one tree, leaves from what the trees are told."""
        return HardTrees.fit(
            weights[None], threshold[None], self.told, linear=self.settings.linear
        )

    def _train_loss(self, tree: HardTrees) -> float:
        """Hard training loss of a batch of one tree."""
        return float(self.rows.loss(tree.answers(self.rows.x))[0])

    def _valid_loss(self, tree: HardTrees) -> float:
        """Hard validation loss of a batch of one tree."""
        return float(self.valid.loss(tree.answers(self.valid.x))[0])

    def _leader(self, network: GetNetwork):
        """What a report shows while the stages train: the best start of the moment."""
        trees = network.hard_trees()
        loss = self.valid.loss(trees.answers(self.valid.x))
        return self.snapshot(trees.take(np.argmin(loss)))

    def _report(self, epoch: float, tree: HardTrees, valid_loss: float, stage: str):
        """Keep a tree's losses in the history and tell them; say whether to stop."""
        train_loss = self._train_loss(tree)
        self.shown = (tree, train_loss, valid_loss, stage)
        seconds = time.monotonic() - self.started
        self.history.append((epoch, train_loss, valid_loss, seconds, stage))
        return self._tell(epoch)

    def _tell(self, epoch: float) -> bool:
        """Send what was reported last at a new epoch; say whether to stop."""
        tree, train_loss, valid_loss, stage = self.shown
        self.reported = time.monotonic()
        progress = Progress(
            epoch=epoch,
            max_epochs=self.total_epochs,
            train_loss=train_loss,
            valid_loss=valid_loss,
            seconds=self.reported - self.started,
            stage=stage,
            snapshot=lambda: self.snapshot(tree),
        )
        self.stopped |= notify(self.callbacks, progress)
        return self.stopped

    def _late_epoch(self, done: float) -> float:
        """Epoch that stands for a share of growth and polish."""
        trained = sum(self.epochs)
        return trained + done * (self.total_epochs - trained)

    def _beat(self, done: float) -> bool:
        """Report in between when the last report is old; say whether to stop."""
        if time.monotonic() - self.reported > REPORT_SECONDS:
            return self._tell(self._late_epoch(done))
        return self.stopped

    def _beat_in_growth(self) -> bool:
        """Beat before the first tree is grown."""
        return self._beat(0.0)

    def _optimizer(self, network):
        """AdamW, its own learning rate for the leaves."""
        splits = [network.weights, network.threshold]
        settings = self.settings
        return torch.optim.AdamW(
            [
                {"params": splits, "lr": settings.learning_rate},
                {"params": [network.leaf_value], "lr": settings.learning_rate_leaves},
            ],
            weight_decay=WEIGHT_DECAY,
        )


def _better(before, loss_before, after, loss_after, rows) -> HardTrees:
    """Of each start the trees before or after a stage, whichever lost less."""
    gained = loss_after < loss_before  # False for NaN
    return HardTrees.fit(
        np.where(gained[:, None, None], after.weights, before.weights),
        np.where(gained[:, None], after.threshold, before.threshold),
        rows,
        linear=before.linear is not None,
    )

"""How GradTree learns: a size from folds, greedy starts, gradient descent, one tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import FEWEST_ROWS
from treelab.learners.common.greedy import ColumnRules
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.settings import read_settings
from treelab.learners.common.target import TargetScale
from treelab.learners.common.tuned_tree import (
    IN_FOLDS,
    Candidate,
    Choice,
    GrownTree,
    Restarts,
    TunedTree,
    cross_validate,
    retained,
)
from treelab.learners.gradtree.network import HardTrees, Rows, epochs_of, train_trees
from treelab.learners.gradtree.random_trees import (
    RandomTrees,
    train_in_folds,
    with_random_trees,
)
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    Starts,
    greedy_starts,
    offered_within,
    random_starts,
    with_leaf_values,
)
from treelab.learners.gradtree.table import Batch, Table, objective_of
from treelab.training.device import resolve_device
from treelab.training.events import CROSS_VALIDATION, TRAINING, Monitor
from treelab.trees.constraints import kept, kept_path
from treelab.trees.feature import feature_matrix
from treelab.trees.pruning import (
    CostComplexityPath,
    SizePath,
    cost_complexity_path,
    merge_equal,
    path_of_sizes,
    prune_to_size,
    simplify,
    steps_at,
)
from treelab.trees.tree import Tree, leaf_of, node_constants, read_features

DOUBLINGS = 2 ** np.arange(2, 10)  # leaves of trees from which the path is pruned
VALIDATION = {False: "the validation rows that were given", True: "a fifth of the rows"}


@dataclass(frozen=True)
class Group:
    """Restarts of which one is retained."""

    kind: str  # "greedy" or "random": what they began as
    # Over encoded columns: as they began, and as they are before the training on all
    # rows, which random ones come to from the folds.
    began: Sequence[Tree]
    trees: Sequence[Tree]
    # Places of the numbers of leaves to which the retained one is pruned.
    sizes: list[int]
    # The number to which all are pruned to choose one; None: they have it.
    n_leaves: int | None = None


class GradTreeFit(GradTreeSettings, TunedTree):
    """What the classifier and the regressor share.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    path_ : SizePath
        A trained tree for each number of leaves; scores are those of the
        cross-validation by which the size was chosen, of greedy trees for most sizes.
    batch_ : Batch
        All trees that were trained on all rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the tree began and how many of its splits training changed.
    history_ : DataFrame
        Epoch, mean training loss (nats, or variances of the target) of the retained
        restart's steps, seconds; the tree is that of the step with the least error.
    """

    def _encoding(self, settings):
        """Rows to validate by train as well where they do not stop the training."""
        return {"numbers": "quantile", "joins_valid": not settings.early_stopping}

    def _learn(self, data, settings, callbacks):
        """Choose a size, start, train, and retain a tree of each size."""
        random = check_random_state(self.random_state)
        table = self._table(data, settings)
        device = resolve_device(self.device)
        generator = torch.Generator(device).manual_seed(random.randint(2**31))
        n_epochs = epochs_of(settings, len(table.data.y))
        monitor, choice, stopped = Monitor(n_epochs, callbacks), None, False
        if settings.start == "random":
            starts = random_starts(
                settings.n_restarts,
                settings.max_depth,
                table.x.shape[1],
                table.objective.n_outputs,
                generator,
            )
            began = table.trees(starts)
            groups = [Group("random", began, began, [0])]
        else:
            found = self._choose(table, monitor, generator)
            choice, small, leads, monitor, stopped = found
            table = replace(table, weighting=choice.candidate.weighting)
            groups = self._groups(table, choice, small, leads, random)
            starts = self._laid(table, [tree for own in groups for tree in own.trees])
        network, loss = self._network(table, starts, device), None

        def snapshot() -> Tree:
            """Return the first tree as it is now."""
            return table.restore(self._tree(table, table.trees(network.arrays())[0]))

        monitor.snapshot = snapshot
        if not stopped:
            loss = train_trees(network, settings, monitor, generator).best_loss
        encoded = table.trees(network.arrays())
        self.batch_ = Batch(encoded, table.data.encoder)
        places = self._retained(table, network, groups, loss)
        if settings.early_stopping:
            table = table.joined()
            trees = [self._with_trained_leaves(table, network, e) for e in places]
        else:
            trees = [self._tree(table, encoded[e]) for e in places]
        self.path_ = self._path(table, choice, groups, trees)
        start = table.restore(self._tree(table, groups[0].began[places[0]]))
        may_move = settings.learning_rate_index + settings.learning_rate_values > 0
        origin = partial(
            Origin,
            groups[0].kind,
            trained=may_move and not stopped,
            later=("pruning",) * (self.path_.tree.n_leaves < trees[0].n_leaves),
            held_out=self._held_out_words(table),
        )
        self._finish(table, start, origin)
        last = self.model_
        monitor.retain(places[0], {0.0: lambda: start, n_epochs: lambda: last})
        self.history_ = monitor.history_frame()

    def _table(self, data: TrainingData, settings: GradTreeSettings) -> Table:
        """Say what is learned of the rows."""
        self._target_scale = scale = self._scale_of(settings, data)
        if self._task() == "regression":
            own, more = scale.standardise(data.y), scale.standardise(data.y_valid)
            data = replace(data, y=own, y_valid=more)
        search = self._search(data, settings)
        if settings.start == "random" and self.constraints_:
            raise ValueError(
                "Trees that start at random, as in the paper's recipe, keep no "
                'constraints; start="greedy" does.'
            )
        seen = to_float32(data.encoder.transform(data.frame))
        objective = objective_of(settings, data.y, self.labels(), search.loss)
        x = to_float32(data.X)
        return Table(data, settings, search, objective, scale, x, seen)

    def _hold_out(self, target, groups):
        """Hold rows out where they stop training, if they can be spared."""
        if read_settings(self).early_stopping and len(target) >= FEWEST_ROWS:
            return super(GrownTree, self)._hold_out(target, groups)
        return super()._hold_out(target, groups)

    def _choose(
        self, table: Table, monitor: Monitor, generator: torch.Generator
    ) -> tuple[Choice, RandomTrees | None, np.ndarray, Monitor, bool]:
        """Cross-validate greedy trees, and small random ones beside them.

        Returns the choice, the random trees, the sizes at which they lead, the monitor
        of the training that follows, and whether a callback asked to stop.
        """
        search = table.search
        nowhere = np.zeros(len(search.sizes), dtype=bool)
        if len(table.data.y) < FEWEST_ROWS:
            return _unscored(table), None, nowhere, monitor, False
        n_epochs = monitor.max_epochs
        stage = Monitor(
            2 * n_epochs, monitor.callbacks, stage=CROSS_VALIDATION, is_preparation=True
        )
        choice = cross_validate(table.data, search, stage)
        if self.constraints_.limits_splits:
            return choice, None, nowhere, stage.next_stage(TRAINING, n_epochs), False
        weighted = replace(table, weighting=choice.candidate.weighting)
        small, stopped = train_in_folds(weighted, stage, generator)
        choice, leads = with_random_trees(choice, small)
        return choice, small, leads, stage.next_stage(TRAINING, n_epochs), stopped

    def _groups(
        self,
        table: Table,
        choice: Choice,
        small: RandomTrees | None,
        leads: np.ndarray,
        random: np.random.RandomState,
    ) -> list[Group]:
        """Return the restarts of each size that is trained, the chosen size's first.

        Other sizes have a third as many, and are pruned from the next power of two.
        Greedy trees grow with the weights that leaves have.
        """
        data, n, sizes = table.data, table.settings.n_restarts, choice.sizes
        greedy = replace(table.search.greedy, class_weight=table.training_weights)
        rows = table.x, table.seen, data.y, data.encoder.features_, data.weight
        restarts = Restarts(replace(table.search, greedy=greedy), rows, n, random)
        ends = np.searchsorted(sizes, DOUBLINGS[sizes[-1] > DOUBLINGS])
        ends = np.unique([*ends, choice.chosen, len(sizes) - 1])
        groups: list[Group] = []
        largest = 0  # leaves of the trees of the last group
        for end in ends.tolist():
            before = [place for group in groups for place in group.sizes]
            own = [z for z in range(end + 1) if z not in before and not leads[z]]
            n_trees = n if choice.chosen in own else -(-n // 3)
            trees = restarts.trees(choice.candidates[end], int(sizes[end]))[:n_trees]
            most = max(tree.n_leaves for tree in trees)
            if most <= largest:
                groups[-1].sizes.extend(own)  # all rows fill no more leaves
            elif own:
                groups.append(Group("greedy", trees, trees, own))
                largest = most
        if small is not None and leads.any():
            own = np.flatnonzero(leads).tolist()
            size = int(sizes[choice.chosen if choice.chosen in own else own[-1]])
            groups.append(Group("random", small.began[:n], small.trees[:n], own, size))
        return sorted(groups, key=lambda group: choice.chosen not in group.sizes)

    def _laid(self, table: Table, trees: list[Tree]) -> Starts:
        """Lay trees over encoded columns into complete ones."""
        offered = None
        if self.constraints_.limits_splits:
            features = table.data.encoder.features_
            rules = ColumnRules.of(self.constraints_, features, self.labels())
            offered = [offered_within(rules, tree) for tree in trees]
        starts = greedy_starts(trees, table.x, table.values, offered=offered)
        own = table.data.y, table.row_weights, table.objective
        return with_leaf_values(starts, table.x, *own)

    def _network(self, table: Table, starts: Starts, device: torch.device) -> HardTrees:
        """Bind the trees with the rows that they are trained on."""
        data, valid, judged = table.data, None, table.judged
        if table.settings.early_stopping:
            valid = table.seen, data.y, data.row_weight
            if len(data.y_valid):
                valid = to_float32(data.X_valid), data.y_valid, data.row_weight_valid
        errors, weights = table.judge(judged).errors, table.row_weights
        rows = Rows(table.x, table.seen[judged], data.y, weights, errors, valid)
        return HardTrees(starts, rows, table.objective, table.settings, device)

    def _retained(
        self, table: Table, network: HardTrees, groups: list[Group], loss
    ) -> list[int]:
        """Return the place of the tree that each group retains."""
        leaves, first, places = network.leaves(), 0, []
        judge, seen = table.judge(table.judged), table.seen[table.judged]
        for group in groups:
            own = slice(first, first + len(group.trees))
            if group.n_leaves is not None:  # as they are once they are pruned
                for e, tree in enumerate(self.batch_.trees[own], start=first):
                    weight = judge.weight / judge.weight.mean()
                    grown = table.search.with_rows(tree, seen, judge.y, weight)
                    pruned = prune_to_size(grown, group.n_leaves)
                    leaves[e] = np.unique(leaf_of(pruned, seen), return_inverse=True)[1]
            if table.settings.early_stopping and loss is not None:
                place = int(loss[own].argmin())
            else:
                predicted = [judge.predicted(leaf) for leaf in leaves[own]]
                fit = 1 - judge.errors(leaves[own])
                place = retained(predicted, judge.y, fit, judge.weight, judge.loss)
            places.append(first + place)
            first += len(group.trees)
        return places

    def _tree(self, table: Table, encoded: Tree) -> Tree:
        """Return a tree in the user's columns with its rows; leaves say what these do.

        Values stay in the unit of the table's target, see ``Table.restore``.
        """
        return kept(simplify(self._export(table, encoded)), self.constraints_)

    def _with_trained_leaves(
        self, table: Table, network: HardTrees, place: int
    ) -> Tree:
        """Return a tree whose leaves are as they were trained."""
        tree = self._export(table, self.batch_.trees[place])
        output = network.leaf_value[place].detach().double().cpu().numpy()
        value = tree.value.copy()
        value[tree.is_leaf] = self._trained_values(output, table.objective)
        return simplify(replace(tree, value=value))

    def _export(self, table: Table, encoded: Tree) -> Tree:
        """Return a tree in the user's columns with its rows, as complete as it is."""
        weights = table.class_weights
        return self._exported(encoded, table.data, weights, self._notes(weights))

    def _path(
        self, table: Table, choice: Choice | None, groups: list[Group], trees
    ) -> SizePath:
        """Prune the retained trees to every number of leaves."""
        if choice is None:
            only, unknown = table.restore(trees[0]), np.array([np.nan])
            size = np.array([only.n_leaves])
            return path_of_sizes([only], size, unknown, unknown, 0)
        found: dict[int, Tree] = {}
        for group, tree in zip(groups, trees):
            prunings = self._prunings(table, tree)
            steps = steps_at(prunings, choice.sizes[group.sizes]).tolist()
            for place, step in zip(group.sizes, steps):
                found[place] = self._merged(table, prunings.trees[step])
        path = path_of_sizes(
            [found[z] for z in range(len(choice.sizes))],
            choice.sizes,
            choice.scores,
            choice.standard_errors,
            choice.chosen,
        )
        path = kept_path(path, self.constraints_)
        return replace(path, trees=tuple(map(table.restore, path.trees)))

    def _prunings(self, table: Table, tree: Tree) -> CostComplexityPath:
        """Prune by what trees are trained for, not by the variance that nodes show."""
        if tree.loss is None:
            return cost_complexity_path(tree)
        data = table.data
        leaf = leaf_of(tree, read_features(tree, data.frame))
        losses = node_constants(tree, leaf, data.y, data.row_weight, tree.loss)[1]
        path = cost_complexity_path(replace(tree, impurity=losses))
        return replace(path, tree=tree)

    def _merged(self, table: Table, tree: Tree) -> Tree:
        """Return a tree whose sibling leaves of one class are one leaf."""
        merged = merge_equal(tree, same_class=True)
        if merged.n_leaves == tree.n_leaves or table.settings.early_stopping:
            return tree
        return self._with_rows(merged, table.data, table.class_weights)

    def _finish(self, table: Table, start: Tree, origin: Callable[..., Origin]) -> None:
        """Set the model and its origin, its splits counted, on the path, too."""
        frame, y, *more = table.data.rows
        y = y if self.labels() else table.scale.restore(y)
        path = self._with_certainty(self.path_, frame, y, *more)
        tree, trees = path.tree, [*path.trees]
        spread = feature_spread([*feature_matrix(tree.features, frame).T])
        n_changed = changed_splits(start, tree, spread)
        self.origin_ = origin(n_splits=tree.n_splits, n_changed=n_changed)
        self.model_ = trees[path.chosen] = with_origin(tree, self.origin_)
        self.path_ = replace(path, trees=tuple(trees))

    def _held_out_words(self, table: Table) -> str:
        """Say what was held out to select by; "" for nothing."""
        if table.settings.early_stopping:
            return VALIDATION[table.data.held_out] if len(table.data.y_valid) else ""
        is_greedy = table.settings.start == "greedy"
        return IN_FOLDS if is_greedy and len(table.data.y) >= FEWEST_ROWS else ""

    def _scale_of(self, settings, data: TrainingData) -> TargetScale:
        """Return the unit of the target that is learned in; set its loss."""
        return TargetScale()

    def _trained_values(self, output: np.ndarray, objective) -> np.ndarray:
        """Return what trained raw outputs (L, C) predict."""
        raise NotImplementedError

    def _notes(self, weights: np.ndarray | None) -> tuple[str, ...]:
        """Note what is special about a weighting of the classes."""
        return ()


def _unscored(table: Table) -> Choice:
    """Choose the largest size, where there are too few rows to hold any out."""
    sizes = table.search.sizes
    candidate = Candidate(table.search.greedy.max_depth, 1, 0)
    unknown = np.full((len(sizes), 1), np.nan)
    last = len(sizes) - 1
    return Choice(sizes, [candidate] * len(sizes), unknown, last, unknown[:, 0])

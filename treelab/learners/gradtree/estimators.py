"""GradTree: one hard, axis-aligned tree, trained as a whole by gradient descent.

How it learns: a size from folds, greedy starts, gradient descent, one tree of a size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding import TableEncoder, to_float32
from treelab.data.split import some_rows
from treelab.evaluation.pruning import pooled_scores
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import FEWEST_ROWS, assign_parts, repeated_folds
from treelab.learners.common.greedy import ColumnRules, decoded_tree
from treelab.learners.common.objective import ClassObjective, Objective
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.settings import (
    IntervalSettings,
    RegressionLossSettings,
    estimator,
    read_settings,
)
from treelab.learners.common.tuned_tree import (
    IN_FOLDS,
    Candidate,
    Choice,
    GrownTree,
    Restarts,
    Search,
    TunedClassifier,
    TunedRegressor,
    TunedTree,
    chosen_size,
    cross_validate,
    path_sums,
    retained,
)
from treelab.learners.gradtree.network import (
    HardTrees,
    Judge,
    Rows,
    epochs_of,
    objective_of,
    train_trees,
    values_of,
)
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    Starts,
    greedy_starts,
    offered_within,
    random_starts,
    with_leaf_values,
)
from treelab.training.device import resolve_device
from treelab.training.events import CROSS_VALIDATION, TRAINING, Monitor
from treelab.trees.constraints import kept, kept_path
from treelab.trees.feature import feature_matrix
from treelab.trees.logits import class_probabilities
from treelab.trees.pruning import (
    CostComplexityPath,
    SizePath,
    cost_complexity_path,
    merge_equal,
    path_of_sizes,
    prune_empty,
    prune_to_size,
    simplify,
    steps_at,
)
from treelab.trees.tree import (
    Tree,
    leaf_of,
    node_constants,
    read_features,
    with_midpoint_thresholds,
)

DOUBLINGS = 2 ** np.arange(2, 10)  # leaves of trees from which the path is pruned
JUDGED_ROWS = 50_000  # at most


class GradTree(GradTreeSettings, TunedTree):
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

    def _hold_out(self, target, groups):
        """Hold rows out where they stop training, if they can be spared."""
        if read_settings(self).early_stopping and len(target) >= FEWEST_ROWS:
            return super(GrownTree, self)._hold_out(target, groups)
        return super()._hold_out(target, groups)

    def _learn(self, data, settings, callbacks):
        """Choose a size, start, train, and retain a tree of each size."""
        random = check_random_state(self.random_state)
        table, n_epochs = self._table(data, settings), epochs_of(settings, len(data.y))
        generator = torch.Generator(resolve_device(self.device))
        generator.manual_seed(random.randint(2**31))
        monitor, loss = Monitor(n_epochs, callbacks), None
        begin = self._begin_random if settings.start == "random" else self._begin_greedy
        begun = begin(table, monitor, generator, random)
        table, choice, groups, starts, monitor, stopped = begun
        network = self._network(table, starts, generator.device)
        monitor.snapshot = lambda: self._shown(table, table.trees(network.arrays())[0])
        if not stopped:
            loss = train_trees(network, settings, monitor, generator).best_loss
        self.batch_ = Batch(table.trees(network.arrays()), data.encoder)
        places = self._retained(table, network, groups, loss)
        all_rows = table
        if settings.early_stopping:
            all_rows = replace(table, data=table.data.joined())
        trees = [self._trained_tree(all_rows, network, place) for place in places]
        self.path_ = self._path(all_rows, choice, groups, trees)
        start = self._shown(all_rows, groups[0].began[places[0]])
        may_move = settings.learning_rate_index + settings.learning_rate_values > 0
        origin = partial(Origin, groups[0].kind, trained=may_move and not stopped)
        self._set_model(all_rows, start, trees[0].n_leaves, origin)
        last = self.model_
        monitor.retain(places[0], {0.0: lambda: start, n_epochs: lambda: last})
        self.history_ = monitor.history_frame()

    def _table(self, data: TrainingData, settings: GradTreeSettings) -> "Table":
        """Say what is learned of the rows, numbers in standard deviations."""
        data = self._standardised(data, settings)
        search = self._search(data, settings)
        if settings.start == "random" and self.constraints_:
            raise ValueError(
                "Trees that start at random, as in the paper's recipe, keep no "
                'constraints; start="greedy" does.'
            )
        objective = objective_of(settings, data.y, self.labels(), search.loss)
        return Table(data, settings, search, objective, to_float32(data.X))

    def _begin_random(self, table: "Table", monitor: Monitor, generator, _):
        """Begin with complete trees of random splits, one of which is retained.

        Returns what ``_begin_greedy`` does, without a choice of sizes.
        """
        settings, n_outputs = table.settings, table.objective.n_outputs
        shape = settings.n_restarts, settings.max_depth, table.x.shape[1], n_outputs
        starts = random_starts(*shape, generator)
        began = table.trees(starts)
        groups = [Group("random", began, began, [0])]
        return table, None, groups, starts, monitor, False

    def _begin_greedy(self, table: "Table", monitor: Monitor, generator, random):
        """Cross-validate greedy trees, and small random ones beside them; lay them.

        Returns the table with the chosen weighting, the choice, the groups of restarts,
        all of them as starts, the monitor of the training that follows, and whether a
        callback asked to stop.
        """
        choice, n_epochs, stopped = _unscored(table), monitor.max_epochs, False
        small, leads = None, np.zeros(len(choice.sizes), dtype=bool)
        if len(table.data.y) >= FEWEST_ROWS:
            stage = Monitor(
                2 * n_epochs,
                monitor.callbacks,
                stage=CROSS_VALIDATION,
                is_preparation=True,
            )
            choice = cross_validate(table.data, table.search, stage)
            if not self.constraints_.limits_splits:
                table = replace(table, weighting=choice.candidate.weighting)
                small, stopped = train_in_folds(table, stage, generator)
                choice, leads = with_random_trees(choice, small)
            monitor = stage.next_stage(TRAINING, n_epochs)
        table = replace(table, weighting=choice.candidate.weighting)
        groups = self._groups(table, choice, small, leads, random)
        trees, offered = [tree for own in groups for tree in own.trees], None
        if self.constraints_.limits_splits:
            features = table.data.encoder.features_
            rules = ColumnRules.of(self.constraints_, features, self.labels())
            offered = [offered_within(rules, tree) for tree in trees]
        starts = greedy_starts(trees, table.x, table.values, offered=offered)
        own = table.data.y, table.row_weights, table.objective
        starts = with_leaf_values(starts, table.x, *own)
        return table, choice, groups, starts, monitor, stopped

    def _groups(
        self,
        table: "Table",
        choice: Choice,
        small: "RandomTrees | None",
        leads: np.ndarray,
        random: np.random.RandomState,
    ) -> list["Group"]:
        """Return the restarts of each size that is trained, the chosen size's first.

        Other sizes have a third as many, and are pruned from the next power of two.
        Greedy trees grow with the weights that leaves have.
        """
        data, n, sizes = table.data, table.settings.n_restarts, choice.sizes
        greedy = replace(table.search.greedy, class_weight=table.training_weights)
        rows = table.x, table.x, data.y, data.encoder.features_, data.weight
        restarts = Restarts(replace(table.search, greedy=greedy), rows, n, random)
        ends = np.searchsorted(sizes, DOUBLINGS[sizes[-1] > DOUBLINGS])
        last = len(sizes) - 1  # 0 where there is one row
        # One leaf is what a trained tree is pruned to.
        ends = np.unique([*ends, max(choice.chosen, min(1, last)), last])
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
            groups.append(Group("random", small.began, small.trees, own, size))
        return sorted(groups, key=lambda group: choice.chosen not in group.sizes)

    def _network(self, table: "Table", starts: Starts, device) -> HardTrees:
        """Bind the trees with the rows that they are trained on."""
        data, valid, judged = table.data, None, table.judged
        if table.settings.early_stopping:
            valid = table.x, data.y, data.row_weight
            if len(data.y_valid):
                valid = to_float32(data.X_valid), data.y_valid, data.row_weight_valid
        errors, weights = table.judge(judged).errors, table.row_weights
        rows = Rows(table.x, table.x[judged], data.y, weights, errors, valid)
        return HardTrees(starts, rows, table.objective, table.settings, device)

    def _retained(
        self, table: "Table", network: HardTrees, groups: list["Group"], loss
    ) -> list[int]:
        """Return the place of the tree that each group retains."""
        leaves, first, places = network.leaves(), 0, []
        judge, x = table.judge(table.judged), table.x[table.judged]
        for group in groups:
            own = slice(first, first + len(group.trees))
            if group.n_leaves is not None:  # as they are once they are pruned
                for e, tree in enumerate(self.batch_.trees[own], start=first):
                    weight = judge.weight / judge.weight.mean()
                    grown = table.search.with_rows(tree, x, judge.y, weight)
                    pruned = prune_to_size(grown, group.n_leaves)
                    leaves[e] = np.unique(leaf_of(pruned, x), return_inverse=True)[1]
            if table.settings.early_stopping and loss is not None:
                place = int(loss[own].argmin())
            else:
                predicted = [judge.predicted(leaf) for leaf in leaves[own]]
                fit = 1 - judge.errors(leaves[own])
                place = retained(predicted, judge.y, fit, judge.weight, judge.loss)
            places.append(first + place)
            first += len(group.trees)
        return places

    def _tree(self, table: "Table", encoded: Tree) -> Tree:
        """Return a tree in the user's columns with its rows; leaves say what these do.

        Values stay in the unit of the table's target.
        """
        return kept(simplify(self._complete(table, encoded)), self.constraints_)

    def _complete(self, table: "Table", encoded: Tree) -> Tree:
        """Return a tree in the user's columns with its rows, as complete as it is."""
        weights = table.class_weights
        notes = () if weights is None else self._weights_note(weights)
        return self._exported(encoded, table.data, weights, notes)

    def _shown(self, table: "Table", encoded: Tree) -> Tree:
        """Return it in the unit of the user's target."""
        return self._target_scale.restore_tree(self._tree(table, encoded))

    def _trained_tree(self, table: "Table", network: HardTrees, place: int) -> Tree:
        """Return a trained tree; with early stopping its leaves are as they trained."""
        encoded, objective = self.batch_.trees[place], table.objective
        if not table.settings.early_stopping:
            return self._tree(table, encoded)
        tree = self._complete(table, encoded)
        output = network.leaf_value[place].detach().double().cpu()
        if isinstance(objective, ClassObjective):
            values = class_probabilities(output.numpy(), objective.n_classes)
        else:
            values = objective.leaf_outputs(output).numpy()
            if self._loss_of_rows.levels:  # quantiles do not cross
                values = np.sort(values, axis=1)
            values = objective.scale.restore(values)
        value = tree.value.copy()
        value[tree.is_leaf] = values
        return simplify(replace(tree, value=value))

    def _path(
        self, table: "Table", choice: Choice | None, groups: list["Group"], trees
    ) -> SizePath:
        """Prune the retained trees to every number of leaves."""
        restore = self._target_scale.restore_tree
        if choice is None:
            size, unknown = np.array([trees[0].n_leaves]), np.array([np.nan])
            return path_of_sizes([restore(trees[0])], size, unknown, unknown, 0)
        found: dict[int, Tree] = {}
        for group, tree in zip(groups, trees):
            prunings = self._prunings(table, tree)
            steps = steps_at(prunings, choice.sizes[group.sizes]).tolist()
            made = {step: self._merged(table, prunings[step]) for step in set(steps)}
            found |= {place: made[step] for place, step in zip(group.sizes, steps)}
        path = choice.path([found[z] for z in range(len(choice.sizes))])
        path = kept_path(path, self.constraints_)
        return replace(path, trees=tuple(map(restore, path.trees)))

    def _prunings(self, table: "Table", tree: Tree) -> CostComplexityPath:
        """Prune by what trees are trained for, not by the variance that nodes show."""
        if tree.loss is None:
            return cost_complexity_path(tree)
        data = table.data
        leaf = leaf_of(tree, read_features(tree, data.frame))
        losses = node_constants(tree, leaf, data.y, data.row_weight, tree.loss)[1]
        path = cost_complexity_path(replace(tree, impurity=losses))
        return replace(path, tree=tree)

    def _merged(self, table: "Table", tree: Tree) -> Tree:
        """Return a tree whose sibling leaves of one class are one leaf."""
        merged = merge_equal(tree, same_class=True)
        if merged.n_leaves == tree.n_leaves or table.settings.early_stopping:
            return tree
        return self._with_rows(merged, table.data, table.class_weights)

    def _set_model(self, table: "Table", start: Tree, n_leaves: int, origin) -> None:
        """Set the model and its origin, its splits counted, on the path, too.

        ``n_leaves`` are those before it was pruned.
        """
        rows = table.data.rows
        if table.class_weights is None:
            rows = rows._replace(y=self._target_scale.restore(rows.y))
        path = self._with_certainty(self.path_, rows)
        tree, trees = path.tree, [*path.trees]
        spread = feature_spread(feature_matrix(tree.features, rows.frame))
        n_changed = changed_splits(start, tree, spread)
        self.origin_ = origin(
            n_splits=tree.n_splits,
            n_changed=n_changed,
            later=("pruning",) * (self.path_.tree.n_leaves < n_leaves),
            held_out=self._held_out(table.data, table.settings),
        )
        self.model_ = trees[path.chosen] = with_origin(tree, self.origin_)
        self.path_ = replace(path, trees=tuple(trees))

    def _held_out(self, data, settings):
        """The validation rows, or the folds of greedy trees."""
        if settings.early_stopping:
            return data.validation
        is_cross_validated = settings.start == "greedy" and len(data.y) >= FEWEST_ROWS
        return IN_FOLDS if is_cross_validated else ""


@estimator
class GradTreeClassifier(GradTree, TunedClassifier):
    """Hard, axis-aligned classification tree trained by gradient descent.

    All splits of a tree are trained together, by straight-through gradients. Folds of
    greedy trees settle the number of leaves and the class weights; greedy trees on
    bootstrap weights, and small random ones where they lead, are trained side by side,
    and the one that fits the rows best and agrees most with the others is retained.
    The paper's recipe trains complete trees from random starts, stops early and retains
    the lowest validation loss. ``docs/learners/gradtree.md`` has the formulas.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.
    """


@estimator
class GradTreeRegressor(
    RegressionLossSettings, IntervalSettings, GradTree, TunedRegressor
):
    """Hard, axis-aligned regression tree trained by gradient descent.

    As ``GradTreeClassifier``, by the squared error of the standardised target, or by
    another ``loss``: folds choose the size by it, leaves hold the constant that costs
    their rows least, and trees are trained by its gradient.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GradTree: Learning
    Axis-Aligned Decision Trees with Gradient Descent", AAAI 2024, arXiv:2305.03515.
    """

    predicts_several = True


# The rows that trees are trained on, and the trees that are trained on them.


@dataclass(frozen=True)
class Table:
    """The rows as GradTree trains on them."""

    data: TrainingData  # ``y`` are class codes, or standardised values
    settings: GradTreeSettings
    search: Search
    objective: Objective
    # (n, F): encoded rows to train on and to judge by, categories cross-fitted: by
    # target rates that know the rows' own targets, trees that split by ids would win.
    x: np.ndarray
    weighting: int = 0  # which of the search's class weights is used

    @property
    def values(self) -> np.ndarray:
        """Indicators of the classes, or standardised values, (n, C)."""
        return values_of(self.objective, self.data.y)

    @property
    def class_weights(self) -> np.ndarray | None:
        """Weight of each class in the leaves, (n_classes,); None for regression."""
        is_classes = self.objective.n_classes > 0
        return self.search.predicting[self.weighting] if is_classes else None

    @property
    def training_weights(self) -> np.ndarray:
        """Weight of each class (n_classes,) while trees grow and are trained."""
        if self.search.greedy.constraints.class_costs:
            return self.search.greedy.class_weight
        return self.search.predicting[self.weighting]

    @property
    def row_weights(self) -> np.ndarray:
        """Weight (n,) of each row while trees are trained."""
        weights = self.data.row_weight
        if self.objective.n_classes:
            weights = weights * self.training_weights[self.data.y]
        return weights / weights.mean()

    @property
    def judged(self) -> np.ndarray:
        """Numbers of the rows by which trees are judged while they train."""
        return some_rows(len(self.x), JUDGED_ROWS)

    def judge(self, rows: np.ndarray | slice = slice(None)) -> Judge:
        """Judge trees by some rows, in whose errors weights count that were asked for.

        These are weights of classes, or costs of errors, where there are any.
        """
        y, weight = self.data.y[rows], self.data.weight
        weights, is_asked = self.training_weights, len(self.search.predicting) == 1
        return Judge(
            y,
            np.ones(len(y)) if weight is None else weight[rows],
            self.objective.n_classes,
            lambda counts: self.search.predicted_class(counts, self.weighting),
            self.search.loss,
            weights if is_asked and np.ptp(weights) > 0 else None,
        )

    def trees(self, starts: Starts) -> list[Tree]:
        """Return complete trees as those over encoded columns."""
        greedy = self.search.greedy
        features = self.data.encoder.features_
        return starts.trees(features, greedy.classes, greedy.outputs)


@dataclass(frozen=True)
class Batch:
    """Trees that were trained side by side on the same rows."""

    trees: Sequence[Tree]  # over encoded columns, without rows
    encoder: TableEncoder  # what their columns are

    def export(self, X, y) -> list[Tree]:
        """Return the trees in the user's columns and units; leaves are not fitted.

        ``X`` and ``y`` are the rows that they were trained on.
        """
        decoded = [decoded_tree(tree, self.encoder) for tree in self.trees]
        filled = [prune_empty(tree.with_rows(X, y)) for tree in decoded]
        return [with_midpoint_thresholds(tree) for tree in filled]


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


def _unscored(table: Table) -> Choice:
    """Choose the largest size, where there are too few rows to hold any out."""
    sizes = table.search.sizes
    candidate = Candidate(table.search.greedy.max_depth, 1, 0)
    unknown = np.full((len(sizes), 1), np.nan)
    last = len(sizes) - 1
    return Choice(sizes, [candidate] * len(sizes), unknown, last, unknown[:, 0])


# Trees from random starts, for what greedy trees cannot see: splits that pay in pairs.
#
# Small complete trees are trained from random starts in the folds that cross-validated
# greedy trees. Where they lead clearly at a number of leaves, they go on on all rows.


MOST_LEVELS = 3
N_SPLITS = 192  # in each fold: many small trees, as most fail
CLEAR = 2.0  # standard errors by which they must lead
FEWEST = 0.01  # of the rows: a smaller branch of theirs goes


@dataclass(frozen=True)
class RandomTrees:
    """Trees from random starts that were trained in folds."""

    # (Z, n_parts): at each number of leaves, of prunings of the best fit of each fold.
    fold_scores: np.ndarray
    # As many as there are restarts, over encoded columns, as they are and as they
    # began, the best fit first.
    trees: list[Tree]
    began: list[Tree]


def train_in_folds(
    table: Table, monitor: Monitor, generator: torch.Generator
) -> tuple[RandomTrees, bool]:
    """Train random trees in five folds; return them, and whether a callback stopped."""
    settings = replace(table.settings, early_stopping=False)
    y, search, x = table.data.y, table.search, table.x
    groups = table.data.groups
    folds, *_ = repeated_folds(
        y, seed=search.seed, n_columns=table.data.frame.shape[1], groups=groups
    )
    levels = int(np.log2(settings.max_leaf_nodes))
    depth = min(MOST_LEVELS, settings.max_depth, levels)
    n_trees = N_SPLITS // (2**depth - 1)
    own = ~np.repeat(np.stack(folds), n_trees, axis=0)  # rows (E, n) that train each
    errors = partial(table.judge().errors, own=own)
    starts = random_starts(
        len(own), depth, x.shape[1], table.objective.n_outputs, generator
    )
    weight = table.row_weights * own * len(y) / own.sum(1)[:, None]
    each = table.data.row_weight
    rows = Rows(x, x, y, weight, errors)
    network = HardTrees(starts, rows, table.objective, settings, generator.device)
    result = train_trees(network, settings, monitor, generator)
    error = errors(network.leaves())
    best = np.argmin(np.split(error, len(folds)), axis=1) + n_trees * np.arange(
        len(folds)
    )
    order = np.argsort(error, kind="stable")[: settings.n_restarts]
    needed = np.union1d(best, order)  # of all trees the few that are looked at
    trees = {}
    for place, tree in zip(needed, table.trees(network.arrays().take(needed))):
        grown = search.with_rows(tree, x, y, each)
        n_rows = np.where(grown.n_rows < FEWEST * len(y), 0, grown.n_rows)
        trees[place] = prune_empty(replace(grown, n_rows=n_rows))
    part = assign_parts(len(y), seed=search.seed, groups=groups)
    sums = []
    for fold, held in enumerate(folds):
        seen = search.with_rows(trees[best[fold]], x[~held], y[~held], each[~held])
        path = cost_complexity_path(seen)
        held_out = x[held], y[held], part[held], each[held]
        sums.append(path_sums(path, held_out, search)[table.weighting])
    scores = pooled_scores(np.sum(sums, axis=0), search.scored_as)
    began = table.trees(starts.take(order))
    found = RandomTrees(scores, [trees[e] for e in order], began)
    return found, result.reason == "callback"


def with_random_trees(choice: Choice, found: RandomTrees) -> tuple[Choice, np.ndarray]:
    """Let random trees have the sizes (Z,) at which they lead clearly; choose anew.

    Returned with the choice is which sizes these are, bool (Z,).
    """
    lead = found.fold_scores - choice.fold_scores  # (Z, n_parts)
    error = lead.std(1, ddof=1) / np.sqrt(lead.shape[1])
    leads = lead.mean(1) > CLEAR * error
    scores = np.where(leads[:, None], found.fold_scores, choice.fold_scores)
    chosen, errors = chosen_size(scores)
    choice = replace(choice, fold_scores=scores, chosen=chosen, standard_errors=errors)
    return choice, leads

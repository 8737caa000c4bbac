"""A log replayed: the tree that its edits make, before anything is trained."""

from dataclasses import dataclass, field

from treelab.editing.apply import apply_edits
from treelab.editing.edited import Edited
from treelab.editing.limits import EditRows
from treelab.editing.log import EditLog, tree_hash
from treelab.editing.regrow import refit
from treelab.trees.constraints import Constraints
from treelab.trees.pruning import prune_empty
from treelab.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class Bench:
    """A tree and the rows by which it is edited."""

    tree: Tree
    train: EditRows  # training rows, on which splits are chosen
    fitted: EditRows  # rows that the tree was fitted to, and its new leaves are
    constraints: Constraints = field(default_factory=Constraints)  # no edit breaks one

    def start(self) -> EditLog:
        """Return the tree's log without an edit."""
        return EditLog(tree_hash(self.tree))

    def replay(self, log: EditLog) -> Edited:
        """Apply a log's edits.

        Raises
        ------
        ValueError
            If the log is of another tree, or cannot be applied.
        """
        if log.tree != (own := tree_hash(self.tree)):
            raise ValueError(
                f"The log is of another tree ({log.tree or 'unknown'}), not of this "
                f"one ({own})."
            )
        return apply_edits(self.tree, log.edits, self.train, self.constraints)

    def tree_of(self, edited: Edited) -> Tree:
        """Return an edited tree as it is saved: leaves fitted, no empty branch."""
        return prune_empty(refit(edited, self.fitted))

"""Several trees in one picture, a frame each: epochs or steps of a pruning path."""

from collections.abc import Sequence
from dataclasses import dataclass

from treelab.figures.viewer.wording import plain_number
from treelab.trees.tree import Tree

MOST_NODES = 3_000  # of all frames together
FEWEST_FRAMES = 8  # that stay; of their trees, only what many rows pass is written


@dataclass(frozen=True)
class Frames:
    """What the trees of one picture stand for, one a frame.

    Attributes
    ----------
    kind : {"epoch", "lambda", "leaves", "alpha"}
    name : str
        The scrubber's name.
    values : sequence of float
        Epoch, pruning strength or number of leaves of each frame, in order.
    labels : sequence of str
        What is written beside the scrubber.
    chosen : int
        The frame that is shown first.
    scores : sequence of float or None, default=None
        Score of each frame's tree.
    score_label : str
        Which score on which rows: "macro F1 · validation".
    """

    kind: str
    name: str
    values: Sequence[float]
    labels: Sequence[str]
    chosen: int
    scores: Sequence[float] | None = None
    score_label: str = ""

    def take(self, places: Sequence[int]) -> "Frames":
        """Return the frames at some places; the chosen one must be among them."""
        return Frames(
            self.kind,
            self.name,
            [self.values[i] for i in places],
            [self.labels[i] for i in places],
            list(places).index(self.chosen),
            None if self.scores is None else [self.scores[i] for i in places],
            self.score_label,
        )

    def to_dict(self) -> dict:
        """Return the frames as plain values, without their trees."""
        scores = self.scores
        return {
            "kind": self.kind,
            "name": self.name,
            "values": [plain_number(value) for value in self.values],
            "labels": list(self.labels),
            "scores": None if scores is None else [plain_number(s) for s in scores],
            "score_label": self.score_label,
            "chosen": int(self.chosen),
        }


def thinned(trees: Sequence[Tree], frames: Frames) -> tuple[list[Tree], Frames]:
    """Leave out frames, evenly, where all trees together have too many nodes."""
    places = list(range(len(trees)))
    while sum(trees[i].n_nodes for i in places) > MOST_NODES:
        fewer = [i for n, i in enumerate(places) if n % 2 == 0 or i == frames.chosen]
        fewer = sorted({*fewer, places[-1]})
        if len(fewer) < FEWEST_FRAMES:
            break
        places = fewer
    return [trees[i] for i in places], frames.take(places)

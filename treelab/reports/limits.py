"""What the numbers of a report do not say."""

from collections.abc import Sequence

from treelab.data.problem import Problem
from treelab.data.split import JOINED
from treelab.reports.blocks import Bullets, Section
from treelab.reports.facts import RunFacts
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text.names import listed
from treelab.trees.text.numerals import counted

FEW_ROWS = 30  # test rows of a class, below which its scores are called uncertain


def _chosen(problem: Problem) -> str:
    """Say how the test rows were chosen."""
    column = repr(problem.split_column)
    return {
        "random": "were drawn at random from the same table",
        "group": f"share no value of {column} with the rows trained on",
        "time": f"are the latest of the table by {column}",
        "given": f"are those that {column} says are test rows",
    }[problem.split_by]


def limits_section(found: Sequence[RunFacts]) -> Section:
    """Say what the numbers do not say."""
    first = found[0]
    n_test = counted(len(first.split.y_test), "test row")
    lines = []
    if first.is_scored:
        lines += [
            f"The {n_test} {_chosen(first.run.problem)}. The scores speak of rows that "
            "come about as these did, not of other places, other times or other ways "
            "to measure.",
            "The intervals resample the test rows. How another split, or training "
            "again with another seed, would score, they do not say.",
        ]
    else:
        lines.append("There is no score: the clusters were not held against labels.")
    for facts in found:
        of = f"{facts.name}: " if len(found) > 1 else ""
        lines += [f"{of}{words}" for words in _own_limits(facts)]
    if len(found) > 1:
        fitted = {facts.run.fitted_split for facts in found}
        if len(fitted) > 1:
            lines.append("The runs were not fitted to equally many rows, see Training.")
        if len({facts.run.problem.columns for facts in found}) > 1:
            lines.append("The runs use different features.")
    rare = _rare_classes(first)
    if rare:
        lines.append(
            f"Fewer than {FEW_ROWS} test rows are of {rare}: what is said of "
            "such a class alone is uncertain."
        )
    lines.append(
        "A tree shows what the model does. That a feature is tested does not mean that "
        "changing it would change the target."
    )
    return Section("Limits", [Bullets(lines)])


def _own_limits(facts: RunFacts) -> list[str]:
    """Return what holds for one run."""
    lines = [
        note
        for note in facts.run.summary.get("notes", [])
        if note not in facts.split.notes
    ]
    if facts.run.fitted_split == JOINED:
        lines.append(
            "The validation rows trained the model as well, so their score is of rows "
            "that it learned from."
        )
    if isinstance(facts.model, WeightedTrees):
        lines.append(
            f"{counted(facts.model.n_estimators, 'tree')} predict together; the one "
            "that is drawn is not the model."
        )
    if facts.has_predictor:
        lines.append(
            "A predictor on top of the tree makes the predictions; the leaves that are "
            "drawn do not."
        )
    return lines


def _rare_classes(facts: RunFacts) -> str:
    """Name the classes with few test rows, "" for none."""
    if facts.run.problem.task == "regression" or not facts.is_scored:
        return ""
    counts = facts.split.y_test.value_counts()
    few = [str(label) for label in counts.index[counts < FEW_ROWS]]
    return listed(few) if few else ""

"""``treelab compare``: runs by score, and whether they differ by chance."""

from argparse import Namespace

from treelab.cli.arguments import command, json_text, printable
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.learners.registry import IMPORTED
from treelab.runs.jobs.import_model import NOTE
from treelab.runs.store.run_store import RunStore
from treelab.trees.words import percent


@command(
    "compare",
    "score runs side by side, with the interval of their difference",
    """
    Writes the test score of two to four runs of one table, target and data split,
    and how far each is from the first: the difference with its interval by a paired
    bootstrap over the test rows, 95% for all of them together. For pictures, see
    report.

    runs RUN  ids of two to four runs
    [home]
    --json  print scores and differences as JSON
    """,
    runs={"nargs": "+"},
)
def compare(arguments: Namespace) -> None:
    """Print the scores of runs, and their differences from the first."""
    from treelab.reports.run_report import (
        costs_on_test_rows,
        read_facts,
        score_difference,
    )

    store = RunStore(arguments.home)
    ids = list(dict.fromkeys(arguments.runs))
    if len(ids) < 2:
        raise ValueError("Name two to four runs to compare.")
    found = read_facts(store, [store.run(run_id) for run_id in ids])
    first, *others = found
    n_pairs = len(others)
    tested = (score_difference(first, facts, n_pairs) for facts in others)
    differences = [None, *tested]
    costs = costs_on_test_rows(found)
    if arguments.json:
        rows_of_runs = [_row(*pair) for pair in zip(found, differences)]
        if costs is not None:
            for row, mean in zip(rows_of_runs, costs.mean):
                row["mean_cost"], row["costs_of"] = mean, found[costs.costs_of].run.id
        print(json_text(rows_of_runs))
        return
    rows = f"{len(first.split.y_test):,} test rows{first.run.problem.weighted_words}"
    print(f"{first.metric_title} on {rows}")
    width = max(len(printable(facts.name)) for facts in found)
    for facts, difference in zip(found, differences):
        line = f"{printable(facts.name):{width}}  {facts.score:8.4f}"
        leaves = facts.run.summary["leaves"]
        line += f"  {leaves:6,d} {'leaf  ' if leaves == 1 else 'leaves'}"
        line += f"  run {facts.run.id}"
        print(line)
        if difference is not None:
            print(f"{'':{width}}  {_words(difference)}")
    for facts in found:
        if facts.run.learner == IMPORTED:
            print(f"{printable(facts.name)}: {NOTE}")
    if costs is not None:
        print(printable(costs.sentence([facts.name for facts in found])))


def _words(difference: ScoreDifference) -> str:
    """Say how far a score is from the first, and whether that is more than chance."""
    if difference.same:
        return "the same predictions as the first"
    verdict = "more than chance" if difference.clear else "may be chance"
    return (
        f"{difference.estimate:+8.4f}  from the first, "
        f"{percent(difference.level)} interval "
        f"{difference.low:+.4f} to {difference.high:+.4f}: {verdict}"
    )


def _row(facts, difference: ScoreDifference | None) -> dict:
    """Return what is printed of a run as values for JSON."""
    row = {
        "run": facts.run.id,
        "name": facts.name,
        "metric": facts.metric,
        "score": facts.score,
        "leaves": facts.run.summary["leaves"],
        "test_rows": len(facts.split.y_test),
    }
    if difference is not None:
        row["difference"] = difference.estimate
        row["low"], row["high"] = difference.low, difference.high
        row["level"] = difference.level
        row["more_than_chance"] = difference.clear
    return row

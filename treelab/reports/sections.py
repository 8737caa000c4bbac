"""The sections of a report on one run or several, in words and tables."""

import itertools
from collections.abc import Sequence

import numpy as np

from treelab.data.columns import column_kind
from treelab.data.folds import fold_name
from treelab.data.problem import Problem
from treelab.data.split import JOINED, SPLITS
from treelab.data.split_by import WAY_TITLES
from treelab.evaluation.metrics import (
    TITLES,
    class_scores,
    confusion_matrix,
    scores,
)
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.learners.registry import IMPORTED, find_spec, learner_title
from treelab.reports.blocks import Block, Bullets, Paragraph, Section, Subtitle, Table
from treelab.reports.explanations import (
    chosen_rows,
    decision_words,
    prediction_words,
    value_words,
)
from treelab.reports.facts import RunFacts
from treelab.runs.store.run import Run
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text.numerals import counted, percent, significant

_SPLIT_TITLES = {"train": "training", "valid": "validation", "test": "test"}


def result_section(found: Sequence[RunFacts]) -> Section:
    """Say what the runs score on the test rows, and which of them is better."""
    blocks: list[Block] = []
    first = found[0]
    if len(found) == 1:
        blocks.append(Paragraph(_result_words(first), strong=True))
        blocks += [Paragraph(sentence) for sentence in first.imitation_sentences()]
    else:
        rows = [
            [own.name, *_scored(own, own.metric), _size_words(own)] for own in found
        ]
        head = ["run", f"{first.metric_title}, test", "95% interval", "size"]
        blocks += [
            Paragraph(_comparison_words(found), strong=True),
            Table(head, rows),
            Subtitle("Differences on the same test rows"),
            _difference_table(found),
            Paragraph(
                "A 95% interval by a paired bootstrap of 2,000 resamples of the test "
                "rows; where it holds zero, there is no clear difference."
            ),
        ]
    return Section("Result", blocks)


def _result_words(facts: RunFacts) -> str:
    """Write a run's score and size."""
    if not facts.is_scored:
        return f"Clusters that the run found itself: {_size_words(facts)}."
    score, interval = _scored(facts, facts.metric)
    n_rows = counted(len(facts.split.y_test), "test row")
    words = f"{facts.metric_title} {score} on {n_rows}"
    if interval:
        words += f" (95% interval {interval})"
    return f"{words}; {_size_words(facts)}."


def _scored(facts: RunFacts, metric: str) -> list[str]:
    """Return a test score and its interval, "" where there is none."""
    value = significant(facts.run.metrics["test"][metric])
    ends = facts.intervals.get(metric)
    return [value, f"{significant(ends[0])} to {significant(ends[1])}" if ends else ""]


def _size_words(facts: RunFacts) -> str:
    """Write how large the model is."""
    size = facts.run.summary
    words = ""
    if isinstance(facts.model, WeightedTrees):
        words = f"{counted(facts.model.n_estimators, 'tree')}, "
    words += f"{counted(size['leaves'], 'leaf', 'leaves')}, depth {size['depth']}"
    return f"{words}, a predictor on top" if facts.has_predictor else words


def _differences(one: RunFacts, other: RunFacts) -> ScoreDifference:
    """Return how the other's headline score differs from the one's."""
    truth = one.split.y_test.to_numpy()
    task = one.run.problem.task
    return paired_bootstrap(task, truth, one.predicted, other.predicted)[one.metric]


def _comparison_words(found: Sequence[RunFacts]) -> str:
    """Say which run scores most, and whether that is more than chance."""
    order = sorted(found, key=lambda own: -own.score)
    best, next_ = order[:2]
    words = f"{best.name} scores most, {best.metric_title} {significant(best.score)}"
    if _differences(next_, best).winner is None:
        return f"{words}; no clear difference from {next_.name}."
    return f"{words}, clearly more than {next_.name}."


def _difference_table(found: Sequence[RunFacts]) -> Table:
    """Compare each two of the runs."""
    rows = []
    for one, other in itertools.combinations(found, 2):
        d = _differences(one, other)
        verdict = "no clear difference"
        if d.winner is not None:
            verdict = f"{(one, other)[d.winner].name} is better"
        interval = f"{significant(d.low)} to {significant(d.high)}"
        name = f"{other.name} minus {one.name}"
        rows.append([name, significant(d.estimate), interval, verdict])
    return Table(["runs", found[0].metric_title, "95% interval", "finding"], rows)


def data_section(facts: RunFacts) -> Section:
    """Describe the table, its columns and its data split."""
    problem, split = facts.run.problem, facts.split
    n_rows, n_columns = facts.table_shape
    known = [len(split.rows(name)[1]) for name in SPLITS]
    parts = ", ".join(
        f"{n:,} {_SPLIT_TITLES[name]} rows" for n, name in zip(known, SPLITS)
    )
    lines = [
        ["table", problem.table_name],
        ["SHA-256 of its content", problem.origin or problem.table_id],
        ["rows, columns", f"{n_rows:,}, {n_columns:,}"],
        ["target", problem.target],
        ["task", problem.task],
        ["split", f"{parts}; {_split_words(problem)}"],
    ]
    units, kinds = dict(problem.units), dict(problem.kinds)
    X = split.rows(JOINED)[0]
    rows = [
        [
            name,
            kinds.get(name, column_kind(X[name])),
            units.get(name, ""),
            percent(float(X[name].isna().mean())),
        ]
        for name in problem.columns
    ]
    blocks: list[Block] = [Table(["what", "value"], lines)]
    blocks += [Paragraph(note) for note in split.notes]
    blocks += [
        Subtitle("Features"),
        Table(["column", "kind", "unit", "missing (training, validation)"], rows),
        Subtitle("Target"),
        _target_table(facts),
    ]
    return Section("Data", blocks)


def _split_words(problem: Problem) -> str:
    """Write how rows were split."""
    by = f" {problem.split_column!r}" if problem.split_column else ""
    if problem.n_folds:
        name = fold_name(problem.seed, problem.n_folds)
        return f"{WAY_TITLES[problem.split_by]}{by}; {name}"
    return f"{WAY_TITLES[problem.split_by]}{by}; seed {problem.seed}"


def _target_table(facts: RunFacts) -> Table:
    """Count the classes, or describe the values, of each part of the data split."""
    targets = [facts.split.rows(name)[1] for name in SPLITS]
    head = [_SPLIT_TITLES[name] for name in SPLITS]
    if facts.run.problem.task == "regression":
        rows = [
            [name, *(significant(float(getattr(y, name)())) for y in targets)]
            for name in ("mean", "std", "min", "max")
        ]
        return Table(["value", *head], rows)
    counts = [y.value_counts() for y in targets]
    rows = [
        [str(label), *(f"{count.get(label, 0):,}" for count in counts)]
        for label in counts[0].index
    ]
    return Table(["class", *head], rows)


def training_section(found: Sequence[RunFacts]) -> Section:
    """List how each run was trained: settings, seed, versions, time."""
    blocks: list[Block] = []
    for facts in found:
        run = facts.run
        if len(found) > 1:
            blocks.append(Subtitle(facts.name))
        blocks.append(Table(["what", "value"], _training_lines(run)))
        spec = find_spec(run.learner)
        defaults = spec.defaults(run.problem.task) if spec else {}
        rows = [
            [name, _setting(value, name), _setting(defaults.get(name), name)]
            for name, value in run.settings.items()
        ]
        if rows:
            blocks.append(Table(["setting", "value", "default"], rows))
    return Section("Training", blocks)


def _training_lines(run: Run) -> list[list[str]]:
    """List what is known of a training; of one elsewhere, next to nothing."""
    if run.learner == IMPORTED:
        return [["learner", "not known: trained elsewhere"], ["run", run.id]]
    summary = run.summary
    joined = run.fitted_split == JOINED
    used = (f"{name} {number}" for name, number in summary.get("versions", {}).items())
    return [
        ["learner", learner_title(run.learner)],
        ["recipe", "the paper's" if run.follows_paper else "treelab's"],
        ["origin", run.provenance or "not recorded"],
        ["fitted to", "training and validation rows" if joined else "training rows"],
        ["seed", str(run.problem.seed)],
        ["device", summary.get("device", run.device)],
        ["seconds", significant(summary.get("seconds", run.elapsed))],
        ["versions", ", ".join(used) or "not recorded"],
        ["run", run.id],
    ]


def _setting(value, name: str) -> str:
    """Write a setting's value, constraints in words."""
    if name == "constraints":
        return str(Constraints.read(value))
    return "none" if value is None else str(value)


def scores_section(found: Sequence[RunFacts]) -> Section:
    """List every score on every part of the data split, and a constant's."""
    blocks: list[Block] = []
    for facts in found:
        if not facts.is_scored:
            continue
        if len(found) > 1:
            blocks.append(Subtitle(facts.name))
        baseline = _baseline(facts)
        rows = []
        for name, title in TITLES.items():
            if name not in facts.run.metrics["test"]:
                continue
            own = [facts.run.metrics.get(split, {}) for split in SPLITS]
            each = [significant(s[name]) if name in s else "" for s in own]
            constant = significant(baseline[name]) if name in baseline else ""
            rows.append([title, *each, _scored(facts, name)[1], constant])
        head = ["score", "training", "validation", "test", "95% interval, test"]
        blocks.append(Table([*head, "baseline, test"], rows))
    what = (
        "mean" if found[0].run.problem.task == "regression" else "most frequent class"
    )
    blocks.append(
        Paragraph(
            "Interval: 2,000 bootstrap resamples of the test rows. Baseline: always "
            f"the {what} of the training rows."
        )
    )
    return Section("Scores", blocks)


def _baseline(facts: RunFacts) -> dict[str, float]:
    """Score the constant prediction on the test rows."""
    train, truth = facts.split.y_train, facts.split.y_test
    task = facts.run.problem.task
    value = train.mean() if task == "regression" else train.value_counts().index[0]
    constant = np.full(len(truth), value, dtype=train.to_numpy().dtype)
    return scores(task, truth.to_numpy(), constant)


def errors_section(found: Sequence[RunFacts]) -> Section:
    """Show where each run errs on the test rows."""
    blocks: list[Block] = []
    for facts in found:
        if not facts.is_scored:
            continue
        if len(found) > 1:
            blocks.append(Subtitle(facts.name))
        truth = facts.split.y_test.to_numpy()
        if facts.model.classes is None:
            blocks.append(_error_table(facts, np.abs(truth - facts.predicted)))
        else:
            blocks += _class_tables(facts, truth)
    return Section("Errors on the test rows", blocks)


def _error_table(facts: RunFacts, error: np.ndarray) -> Table:
    """Return quantiles of the absolute error, in the target's unit."""
    rows = [
        [
            f"{share:.0%} of the rows",
            value_words(facts.model, np.quantile(error, share)),
        ]
        for share in (0.5, 0.75, 0.9, 0.95, 1.0)
    ]
    return Table(["of", "off by at most"], rows)


def _class_tables(facts: RunFacts, truth: np.ndarray) -> list[Block]:
    """Return the confusion matrix, and the scores of each class."""
    present = list(dict.fromkeys([*(facts.model.classes or ()), *truth.tolist()]))
    codes = {label: code for code, label in enumerate(present)}
    confusion = confusion_matrix(
        np.array([codes[label] for label in truth]),
        np.array([codes[label] for label in facts.predicted]),
        len(present),
    )
    names = [str(label) for label in present]
    matrix = [
        [f"{facts.run.problem.target_is} {name}", *(f"{n:,}" for n in row)]
        for name, row in zip(names, confusion)
    ]
    by_class = class_scores(confusion)
    rows = [
        [
            name,
            *(significant(by_class[c].iloc[i]) for c in ("precision", "recall", "F1")),
            f"{by_class['rows'].iloc[i]:,}",
        ]
        for i, name in enumerate(names)
    ]
    return [
        Table(["class", *(f"predicted {name}" for name in names)], matrix),
        Table(["class", "precision", "recall", "F1", "test rows"], rows),
    ]


def explanations_section(found: Sequence[RunFacts]) -> Section:
    """Explain a few test rows of each run in words."""
    blocks: list[Block] = []
    for facts in found:
        if not facts.is_scored:
            continue
        if len(found) > 1:
            blocks.append(Subtitle(facts.name))
        X, y = facts.split.rows("test")
        for title, place in chosen_rows(facts.model, X, y).items():
            row = X.iloc[[place]]
            target = value_words(facts.model, y.iloc[place])
            blocks.append(
                Paragraph(
                    f"{title}: test row {place + 1:,}, predicted "
                    f"{prediction_words(facts.model, row)}, target {target}."
                )
            )
            lines = decision_words(facts.model, row, X, y)
            if isinstance(facts.model, WeightedTrees):
                blocks.append(Bullets(lines))
            else:  # the steps of a path; then how good its leaf is
                blocks += [Bullets(lines[:-1], numbered=True), Paragraph(lines[-1])]
    return Section("Why it predicts what it does", blocks)

"""The report of a run, as one HTML page."""

import html
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.data.folds import fold_name
from treelab.data.problem import Problem
from treelab.data.split import JOINED, SPLIT_NAMES, SPLITS, DataSplit
from treelab.data.split_by import WAY_TITLES
from treelab.evaluation.comparison import RowCosts, have_same_test_rows, row_costs
from treelab.evaluation.ensembles import heaviest_estimators, weight_that_agrees
from treelab.evaluation.explanations import least_sure, typical_rows, worst_errors
from treelab.evaluation.frontier import HELD_OUT, TEST, FrontierLine, frontier_line
from treelab.evaluation.metrics import (
    TITLES,
    class_scores,
    confusion_matrix,
    quantile,
    score_text,
    scores,
    total_words,
)
from treelab.evaluation.node_report import score_leaf
from treelab.evaluation.paired_bootstrap import (
    LEVEL,
    ScoreDifference,
    level_of_each,
    paired_bootstrap,
    score_intervals,
)
from treelab.evaluation.pruning import pruning_steps
from treelab.figures.frontier import DrawnLine
from treelab.figures.style import learner_color
from treelab.figures.viewer.page import document
from treelab.figures.viewer.payload import (
    ROWS_LABELS,
    tree_payload,
    value_scale,
    view_settings,
)
from treelab.learners.registry import IMPORTED, find_spec, learner_title
from treelab.reports.frontier_svg import frontier_column, frontier_svg
from treelab.runs.jobs.fit import without_origin
from treelab.runs.jobs.residual import run_imitation
from treelab.runs.run_words import fitted_words, run_names
from treelab.runs.store.run import Run, shared_headline
from treelab.runs.store.run_store import RunStore
from treelab.trees.constraints import Constraints
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import ON_TOP, Model, shown_tree
from treelab.trees.text import (
    error_text,
    interval_text,
    likelier_text,
    path_sentences,
    rule_text,
    target_number,
    target_text,
    target_unit,
    to_text,
)
from treelab.trees.tree import Tree, plain_label, predicts_several
from treelab.trees.words import (
    counted,
    listed,
    named_with_unit,
    percent,
    probability,
    quoted,
    significant,
)

# A document as sections of paragraphs, lists and tables, in HTML and in Markdown.
#
# What both say is the same by construction; names out of a table break neither.


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$])")

Block = tuple[str, str]  # in HTML, and in Markdown, which leaves pictures out


def section(title: str, blocks: Iterable[Block]) -> Block:
    """Write a heading, and what stands below it."""
    head = f"<section><h2>{html.escape(title)}</h2>", f"## {_plain(title)}"
    in_html, in_markdown = zip(head, *blocks, ("</section>", ""))
    return "\n".join(in_html), "\n\n".join(filter(None, in_markdown))


def subtitle(text: str) -> Block:
    """Write a heading within a section."""
    return f"<h3>{html.escape(text)}</h3>", f"### {_plain(text)}"


def paragraph(text: str, *, strong: bool = False) -> Block:
    """Write sentences; ``strong`` where they are what was found."""
    kind, marks = (' class="found"', "**") if strong else ("", "")
    return f"<p{kind}>{html.escape(text)}</p>", f"{marks}{_plain(text)}{marks}"


def bullets(items: Sequence[str], *, numbered: bool = False) -> Block:
    """Write sentences, one an item; ``numbered`` where their order counts."""
    name = "ol" if numbered else "ul"
    shown = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    lines = [
        f"{f'{n}.' if numbered else '-'} {_plain(item)}"
        for n, item in enumerate(items, start=1)
    ]
    return f"<{name}>{shown}</{name}>", "\n".join(lines)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], summary: str = ""
) -> Block:
    """Write cells of text, the first of a row its name.

    With a ``summary`` HTML folds the table under these words.
    """
    titles = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    # A wide table scrolls in its own frame, which a keyboard reaches.
    shown = (
        '<div class="wide" tabindex="0" role="group" aria-label="table"><table>'
        f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>"
    )
    if summary:
        words = html.escape(summary)
        shown = f"<details><summary>{words}</summary>{shown}</details>"
    first, *others = [[_plain(cell) for cell in row] for row in (head, *rows)]
    cells = [first, ["---"] * len(head), *others]
    return shown, "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _plain(text: str) -> str:
    """Return text on one line that Markdown shows as it stands."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


# What a report says of runs, read from the run store and measured from the models.


MOST_RUNS = 4


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A finished run with its model and its rows."""

    run: Run
    name: str  # distinct from the other runs of a report
    model: Model
    split: DataSplit
    table_shape: tuple[int, int]  # rows and columns of the whole table
    store: RunStore
    metric: str

    @property
    def metric_title(self) -> str:
        """The headline score's name for people."""
        return TITLES[self.metric]

    @property
    def is_scored(self) -> bool:
        """Whether it predicts a target that it did not find itself."""
        return "test" in self.run.metrics and not self.run.problem.origin

    @property
    def score(self) -> float:
        """The headline score on the test rows, as all pages show it."""
        return self.run.metrics["test"][self.metric]

    @cached_property
    def predicted(self) -> np.ndarray:
        """Predictions for the test rows."""
        return self.model.predict(self.split.X_test)

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95% intervals of the test scores; none of a single row."""
        if len(self.split.y_test) < 2:
            return {}
        _, truth, weight = self.split.rows("test")
        given = self.run.problem.task, truth.to_numpy(), self.predicted, weight
        return score_intervals(*given, loss=self.model.loss)

    @cached_property
    def estimator(self) -> int | None:
        """Of an ensemble the tree of highest mean weight on the test rows."""
        if not isinstance(self.model, WeightedTrees):
            return None
        X, _, weight = self.split.rows("test")
        return int(heaviest_estimators(self.model, X, 1, weight)[0][0])

    @cached_property
    def tree(self) -> Tree:
        """The tree that is drawn."""
        return shown_tree(self.model, estimator=self.estimator)

    def imitation_sentences(self) -> list[str]:
        """Say how a surrogate does beside the model it imitates; else nothing."""
        problem = self.run.problem
        if not problem.is_surrogate:
            return []
        frame = self.store.table(problem.table_id)
        found = run_imitation(self.run, self.model, frame)
        model = f"“{problem.target}”"
        return [
            f"It imitates the predictions {model} of another model; all scores but "
            "those against the truth are its fidelity.",
            *found.sentences(model, "test row"),
        ]

    @cached_property
    def line(self) -> FrontierLine | None:
        """Its trees by size; None for an ensemble and for clusters."""
        if isinstance(self.model, WeightedTrees) or not self.is_scored:
            return None
        path = self.store.path(self.run.id)
        steps = pruning_steps(self.model, path, self.split, self.run.fitted_split)
        return frontier_line(steps.judged, steps.chosen)


def read_facts(store: RunStore, runs: Sequence[Run]) -> list[RunFacts]:
    """Read the runs of a report.

    LookupError if a run has no model, or its table is gone; ValueError if several runs
    do not compare, or are too many.
    """
    if not 1 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"A report is of 1 to {MOST_RUNS} runs, got {len(runs)}.")
    for other in runs[1:]:
        if not have_same_test_rows(runs[0].problem, other.problem):
            raise ValueError(
                f"“{runs[0].title}” ({runs[0].id}) and “{other.title}” ({other.id}) "
                "were not tested on the same rows, weighted alike; a comparison needs "
                "runs of one table, target, data split, weight and exposure."
            )
    found, names, metric = [], run_names(runs), shared_headline(runs)
    for run in runs:
        frame = store.table(run.problem.table_id)
        split, model = run.problem.split(frame), store.model(run.id)
        if predicts_several(model):
            raise ValueError(
                f"Reports and comparisons are of one prediction, and “{run.title}” has "
                f"{len(model.outputs)}: {listed(model.outputs)}. The pages show each."
            )
        found.append(
            RunFacts(run, names[run.id], model, split, frame.shape, store, metric)
        )
    return found


# What the numbers of a report do not say.


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


def limits_section(found: Sequence[RunFacts]) -> Block:
    """Say what the numbers do not say."""
    first = found[0]
    n_test = counted(len(first.split.y_test), "test row")
    lines = []
    if first.is_scored:
        lines += [
            f"The {n_test} {_chosen(first.run.problem)}. The scores speak of rows that "
            "come about as these did, not of other places, other times or other ways "
            "to measure.",
            "The intervals are of other test rows. How another split, or training "
            "again with another seed, would score, they do not say.",
        ]
    else:
        lines.append("There is no score: the clusters were not held against labels.")
    for facts in found:
        of = f"{facts.name}: " if len(found) > 1 else ""
        lines += [f"{of}{words}" for words in _own_limits(facts)]
    if len({facts.run.fitted_split for facts in found}) > 1:
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
    return section("Limits", [bullets(lines)])


def _own_limits(facts: RunFacts) -> list[str]:
    """Return what holds for one run."""
    notes = facts.run.summary.get("notes", [])
    lines = [note for note in notes if note not in facts.split.notes]
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
    if facts.model.has_predictor:
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
    classes = facts.model.classes or ()
    few = [str(label) for label in classes if counts.get(label, 0) < FEW_ROWS]
    return listed(few, write=quoted) if few else ""


# A prediction in words: what decided it, and rows that are worth a look.


MOST_TREES = 5  # whose weight is named
MOST_OF_IT = 0.9  # of the weight


def chosen_rows(model: Model, X: pd.DataFrame, y) -> dict[str, int]:
    """Choose rows that tell much about a model, by what they are.

    Places of the rows, from 0, of which there is one at least: the one it is least sure
    of, a typical one that is predicted well, and its worst error, as the Explain page
    ranks them.
    """
    y, predicted = np.asarray(y), model.predict(X)
    if model.classes is None:
        error = np.abs(predicted - y.astype(float))
        proba, well = None, error <= np.median(error)
        typical = "A typical row, its error below the median"
    else:
        proba, well = model.predict_proba(X), predicted == y
        typical = "A typical row, predicted correctly"
    found = {
        "The least sure prediction": least_sure(model, X, proba),
        typical: typical_rows(X, well),
        "The worst error": worst_errors(y, predicted, proba, model.classes),
    }
    return {title: int(places[0]) for title, places in found.items() if len(places)}


def prediction_words(model: Model, row: pd.DataFrame) -> str:
    """Write the prediction for one row, with its probability or unit and interval."""
    words = value_words(model, model.predict(row)[0])
    if model.classes is None:
        likely = interval_text(model, row)
        return f"{words}, {likely}" if likely else words
    proba = model.predict_proba(row)[0]
    chosen = model.classes.index(plain_label(model.predict(row)[0]))
    likelier = likelier_text(model, row)
    return f"{words}, {probability(proba[chosen])}" + f" ({likelier})" * bool(likelier)


def value_words(model: Model, value) -> str:
    """Write a label, or a value with its unit."""
    if model.classes is not None:
        return str(value)
    return target_text(model, float(value))


def decision_words(
    model: Model, row: pd.DataFrame, X: pd.DataFrame, y, weight=None
) -> list[str]:
    """Write what decided the prediction for one row, a sentence an item.

    Of a tree the decision path; of an ensemble the weights of the heaviest trees and
    the rule of the first. Then how good that leaf is on the test rows ``X``.
    """
    predicted, after = None, []
    if isinstance(model, WeightedTrees):
        most = min(MOST_TREES, model.n_estimators)
        (index,), (shares,) = model.top_estimators(row, most)
        tree = shown_tree(model, estimator=int(index[0]))
        n_most = int(model.n_estimators_for_share(row, MOST_OF_IT)[0])
        each = (f"tree {own} {percent(share)}" for own, share in zip(index, shares))
        lines = [
            f"Weights: {', '.join(each)}; {counted(n_most, 'tree')} of "
            f"{model.n_estimators:,} have {MOST_OF_IT:.0%}.",
            f"Tree {index[0]}: {rule_text(tree, tree.path(row)[-1])}, so "
            f"{value_words(model, tree.predict(row)[0])}.",
        ]
        if model.classes is not None:
            agrees = percent(weight_that_agrees(model, row))
            after = [f"Trees with {agrees} of the weight predict the same class."]
    else:
        tree = shown_tree(model)
        lines = path_sentences(tree, row, most=3)
        if model.has_predictor:
            predicted = model.predict(X)
            lines[-1] = ON_TOP
    score = score_leaf(tree, tree.path(row)[-1], X, y, weight, predictions=predicted)
    return [*lines, score.sentence(tree), *after]


# The sections of a report on one run or several, in words and tables.


def _of_each(
    found: Sequence[RunFacts], write: Callable[[RunFacts], Iterable[Block]]
) -> list[Block]:
    """Write what is said of each run, below its name where there are several."""
    blocks: list[Block] = []
    for facts in found:
        if len(found) > 1:
            blocks.append(subtitle(facts.name))
        blocks += write(facts)
    return blocks


def result_section(found: Sequence[RunFacts]) -> Block:
    """Say what the runs score on the test rows, and which of them is better."""
    blocks: list[Block] = []
    first = found[0]
    if len(found) == 1:
        blocks.append(paragraph(_result_words(first), strong=True))
        blocks += [paragraph(sentence) for sentence in first.imitation_sentences()]
        test = first.run.metrics.get("test", {})
        problem = first.run.problem
        if words := total_words(test, problem.target, problem.weight):
            blocks.append(paragraph(f"Test rows: {words}."))
        blocks += _cost_blocks(found)
    else:
        rows = [[f.name, *_scored(f, f.metric), _size_words(f)] for f in found]
        head = ["run", f"{first.metric_title}, test", "95% interval", "size"]
        blocks += [
            paragraph(_comparison_words(found), strong=True),
            *_cost_blocks(found),
            table(head, rows),
            subtitle("Differences on the same test rows"),
            _difference_table(found),
            paragraph(
                f"{_level_words(len(found))} by a paired bootstrap of 2,000 resamples "
                "of the test rows; where it holds zero, there is no clear difference."
            ),
        ]
    return section("Result", blocks)


def _result_words(facts: RunFacts) -> str:
    """Write a run's score and size."""
    if not facts.is_scored:
        return f"Clusters that the run found itself: {_size_words(facts)}."
    score, interval = _scored(facts, facts.metric)
    n_rows = counted(len(facts.split.y_test), "test row")
    n_rows += facts.run.problem.weighted_words
    sure = f" (95% interval {interval})" if interval else ""
    return f"{facts.metric_title} {score} on {n_rows}{sure}; {_size_words(facts)}."


def _scored(facts: RunFacts, metric: str) -> list[str]:
    """Return a test score and its interval, "" where there is none."""
    ends = facts.intervals.get(metric) or ()
    values = (facts.run.metrics["test"][metric], *ends)
    value, *shown = (score_text(metric, own, facts.model) for own in values)
    return [value, " to ".join(shown)]


def _size_words(facts: RunFacts) -> str:
    """Write how large the model is."""
    size = facts.run.summary
    words = ""
    if isinstance(facts.model, WeightedTrees):
        words = f"{counted(facts.model.n_estimators, 'tree')}, "
    words += f"{counted(size['leaves'], 'leaf', 'leaves')}, depth {size['depth']}"
    return f"{words}, a predictor on top" if facts.model.has_predictor else words


def score_difference(
    one: RunFacts, other: RunFacts, n_pairs: int = 1
) -> ScoreDifference:
    """Return how the other's headline score on the test rows differs from the one's.

    It is one of ``n_pairs`` that are looked at together; see ``paired_bootstrap``.
    """
    _, truth, weight = one.split.rows("test")
    both = one.predicted, other.predicted
    task, loss = one.run.problem.task, one.model.loss
    found = paired_bootstrap(task, truth, *both, weight, loss=loss, n_pairs=n_pairs)
    return found[one.metric]


def _n_pairs(n_runs: int) -> int:
    """Count the pairs of so many runs."""
    return n_runs * (n_runs - 1) // 2


def _level_words(n_runs: int) -> str:
    """Say of how sure an interval of each pair of runs is."""
    n_pairs = _n_pairs(n_runs)
    if n_pairs == 1:
        return f"A {LEVEL:.0%} interval"
    return (
        f"A {percent(level_of_each(n_pairs))} interval, so that those of all "
        f"{n_pairs} pairs hold together with {LEVEL:.0%} confidence (Bonferroni),"
    )


def costs_on_test_rows(
    found: Sequence, predicted: Sequence | None = None
) -> RowCosts | None:
    """Measure runs by the costs of errors that one was trained by; None without.

    Their predictions of the test rows may be given, where they are known already.
    """
    _, truth, weight = found[0].split.rows("test")
    return row_costs(
        [own.run.constraints for own in found],
        [own.model.classes for own in found],
        truth,
        predicted or [own.predicted for own in found],
        weight,
    )


def _cost_blocks(found: Sequence[RunFacts]) -> list[Block]:
    """Say what a test row costs where a run was trained by costs."""
    costs = costs_on_test_rows(found)
    return [] if costs is None else [paragraph(costs.sentence([f.name for f in found]))]


def _comparison_words(found: Sequence[RunFacts]) -> str:
    """Say which run scores most, and whether that is more than chance."""
    order = sorted(found, key=lambda own: -own.score)
    best, next_ = order[:2]
    words = f"{best.name} scores most, {best.metric_title} {significant(best.score)}"
    difference = score_difference(next_, best, _n_pairs(len(found)))
    if difference.same:
        return f"{words}; {next_.name} predicts the same."
    if difference.winner is None:
        return f"{words}; no clear difference from {next_.name}."
    return f"{words}, clearly more than {next_.name}."


def _difference_table(found: Sequence[RunFacts]) -> Block:
    """Compare each two of the runs."""
    rows, n_pairs = [], _n_pairs(len(found))
    for one, other in itertools.combinations(found, 2):
        d = score_difference(one, other, n_pairs)
        verdict = "same predictions" if d.same else "no clear difference"
        if d.winner is not None:
            verdict = f"{(one, other)[d.winner].name} is better"
        interval = f"{significant(d.low)} to {significant(d.high)}"
        name = f"{other.name} minus {one.name}"
        rows.append([name, significant(d.estimate), interval, verdict])
    interval = f"{percent(level_of_each(n_pairs))} interval"
    return table(["runs", found[0].metric_title, interval, "finding"], rows)


def data_section(facts: RunFacts) -> Block:
    """Describe the table, its columns and its data split."""
    problem, split = facts.run.problem, facts.split
    n_rows, n_columns = facts.table_shape
    known = [split.n_rows(name) for name in SPLITS]
    parts = ", ".join(
        f"{n:,} {SPLIT_NAMES[name]} rows" for n, name in zip(known, SPLITS)
    )
    lines = [
        ["table", problem.table_name],
        ["SHA-256 of its content", problem.origin or problem.table_id],
        ["rows, columns", f"{n_rows:,}, {n_columns:,}"],
        ["target", problem.target_name],
        ["task", problem.task],
        ["split", f"{parts}; {_split_words(problem)}"],
    ]
    if problem.weighting:
        lines.append(["weight of a row", problem.weighting])
    units, kinds = dict(problem.units), dict(problem.kinds)
    X, rows = split.rows(JOINED).X, []
    for name in problem.columns:
        kind = kinds.get(name, column_kind(X[name]))
        missing = percent(float(X[name].isna().mean()))
        rows.append([name, kind, units.get(name, ""), missing])
    blocks: list[Block] = [
        table(["what", "value"], lines),
        *(paragraph(note) for note in split.notes),
        subtitle("Features"),
        table(["column", "kind", "unit", "missing (training, validation)"], rows),
        subtitle("Target"),
        _target_table(facts),
    ]
    return section("Data", blocks)


def _split_words(problem: Problem) -> str:
    """Write how rows were split."""
    by = f" {problem.split_column!r}" if problem.split_column else ""
    which = f"seed {problem.seed}"
    if problem.n_folds:
        which = fold_name(problem.seed, problem.n_folds)
    return f"{WAY_TITLES[problem.split_by]}{by}; {which}"


def _target_table(facts: RunFacts) -> Block:
    """Count the classes, or describe the values, of each part of the data split."""
    parts = [facts.split.rows(name) for name in SPLITS]
    head = [SPLIT_NAMES[name] for name in SPLITS]
    if facts.run.problem.task == "regression":
        each = [_described(part.y.to_numpy(), part.weight) for part in parts]
        rows = [
            [name, *(target_number(facts.model, own[name]) for own in each)]
            for name in ("mean", "std", "min", "max")
        ]
        value = named_with_unit("value", target_unit(facts.model))
        return table([value, *head], rows)
    counts = [part.y.value_counts() for part in parts]
    rows = [
        [str(label), *(f"{count.get(label, 0):,}" for count in counts)]
        for label in counts[0].index
    ]
    return table(["class", *head], rows)


def _described(y: np.ndarray, weight: np.ndarray | None) -> dict[str, float]:
    """Describe values: mean and standard deviation are by weight."""
    mean = float(np.average(y, weights=weight))
    std = float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
    return {"mean": mean, "std": std, "min": float(y.min()), "max": float(y.max())}


def training_section(found: Sequence[RunFacts]) -> Block:
    """List how each run was trained: settings, seed, versions, time."""
    return section("Training", _of_each(found, _training_tables))


def _training_tables(facts: RunFacts) -> Iterator[Block]:
    """List what is known of a run's training, and its settings."""
    run = facts.run
    yield table(["what", "value"], _training_lines(run))
    spec = find_spec(run.learner)
    defaults = spec.defaults(run.problem.task) if spec else {}
    rows = [
        [name, _setting(value, name), _setting(defaults.get(name), name)]
        for name, value in run.settings.items()
    ]
    if rows:
        yield table(["setting", "value", "default"], rows)


def _training_lines(run: Run) -> list[list[str]]:
    """List what is known of a training; of one elsewhere, next to nothing."""
    if run.learner == IMPORTED:
        return [["learner", "not known: trained elsewhere"], ["run", run.id]]
    summary = run.summary
    used = (f"{name} {number}" for name, number in summary.get("versions", {}).items())
    return [
        ["learner", learner_title(run.learner, run.settings)],
        ["recipe", "the paper's" if run.follows_paper else "treelab's"],
        ["origin", run.provenance or "not recorded"],
        ["fitted to", fitted_words(run)],
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


def scores_section(found: Sequence[RunFacts]) -> Block:
    """List every score on every part of the data split, and a constant's."""
    is_regression = found[0].run.problem.task == "regression"
    what = "mean" if is_regression else "most frequent class"
    wilson = "" if is_regression else ", of the accuracy Wilson's"
    words = (
        f"Interval: 2,000 bootstrap resamples of the test rows{wilson}. Baseline: "
        f"always the {what} of the training rows."
    )
    return section("Scores", [*_of_each(found, _score_table), paragraph(words)])


def _score_table(facts: RunFacts) -> Iterator[Block]:
    """List a run's scores on every part of the data split, and a constant's."""
    baseline, rows = _baseline(facts), []
    for name, title in TITLES.items():
        if name not in facts.run.metrics["test"]:
            continue
        own = [facts.run.metrics.get(split, {}) for split in SPLITS]
        *each, constant = (
            score_text(name, s[name], facts.model) if name in s else ""
            for s in (*own, baseline)
        )
        rows.append([title, *each, _scored(facts, name)[1], constant])
    head = ["score", "training", "validation", "test", "95% interval, test"]
    yield table([*head, "baseline, test"], rows)


def _baseline(facts: RunFacts) -> dict[str, float]:
    """Score the mean, or the most frequent class, on the test rows."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    task, (X, y, weight) = facts.run.problem.task, facts.split.rows("test")
    constant = DummyRegressor() if task == "regression" else DummyClassifier()
    constant.fit(*facts.split.rows("train"))
    return scores(task, y.to_numpy(), constant.predict(X), sample_weight=weight)


def errors_section(found: Sequence[RunFacts]) -> Block:
    """Show where each run errs on the test rows."""
    is_regression = found[0].run.problem.task == "regression"
    tables = _error_tables if is_regression else _class_tables
    return section("Errors on the test rows", _of_each(found, tables))


def _error_tables(facts: RunFacts) -> list[Block]:
    """Return quantiles of the absolute error, in the target's unit."""
    _, truth, weight = facts.split.rows("test")
    error = np.abs(truth.to_numpy() - facts.predicted)
    of = "rows" if weight is None else "weight"
    shares = (0.5, 0.75, 0.9, 0.95, 1.0)
    each = [error_text(facts.model, quantile(error, own, weight)) for own in shares]
    rows = [[f"{own:.0%} of the {of}", words] for own, words in zip(shares, each)]
    return [table(["of", "off by at most"], rows)]


def _class_tables(facts: RunFacts) -> list[Block]:
    """Return the confusion matrix, and the scores of each class."""
    truth, weight = facts.split.y_test.to_numpy(), facts.split.rows("test").weight
    present = list(dict.fromkeys([*(facts.model.classes or ()), *truth.tolist()]))
    codes = {label: code for code, label in enumerate(present)}
    true, predicted = (
        [codes[label] for label in own] for own in (truth, facts.predicted)
    )
    confusion = confusion_matrix(true, predicted, len(present), weight)
    rows_title = "test rows" if weight is None else "weight of the test rows"

    def number(n: float) -> str:
        """Write a number of rows, or a weight."""
        return f"{n:,.0f}" if weight is None else significant(n)

    names = [str(label) for label in present]
    matrix = [
        [f"{facts.run.problem.target_is} {name}", *map(number, row)]
        for name, row in zip(names, confusion)
    ]
    by_class = class_scores(confusion)
    rows = [
        [
            name,
            *(significant(by_class[c].iloc[i]) for c in ("precision", "recall", "F1")),
            number(by_class["rows"].iloc[i]),
        ]
        for i, name in enumerate(names)
    ]
    return [
        table(["class", *(f"predicted {name}" for name in names)], matrix),
        table(["class", "precision", "recall", "F1", rows_title], rows),
    ]


def _explained_rows(facts: RunFacts) -> Iterator[Block]:
    """Write what a run predicts for some test rows, and what decided it."""
    test = facts.split.rows("test")
    model = facts.model
    for title, place in chosen_rows(model, test.X, test.y).items():
        row, target = test.X.iloc[[place]], value_words(model, test.y.iloc[place])
        words = f"{title}: test row {place + 1:,}, predicted "
        yield paragraph(f"{words}{prediction_words(model, row)}, target {target}.")
        lines = decision_words(model, row, *test)
        if isinstance(model, WeightedTrees):
            yield bullets(lines)
        else:  # the steps of a path; then how good its leaf is
            yield bullets(lines[:-1], numbered=True)
            yield paragraph(lines[-1])


# A report of one run, or of a comparison, as one HTML file; a run's model card.


TREE_HEIGHT = 560  # pixels
INTENDED_USE = (
    "To be filled in: who is to use the model, for which decisions, on which rows, and "
    "for what it must not be used."
)
_STYLE = (
    "section{margin-top:2rem}h2{font-size:1.2rem;margin:0 0 .5rem}"
    "h3{font-size:1rem;margin:1rem 0 .25rem}"
    ".found{color:var(--page-text);font-size:1.1rem}"
    ".wide{overflow-x:auto;margin:.5rem 0}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top;"
    "font-weight:400;border-bottom:1px solid var(--page-line)}"
    "thead th{color:var(--page-muted)}td{overflow-wrap:anywhere;min-width:4rem}"
    "figure{margin:.5rem 0}figcaption{display:flex;flex-wrap:wrap;gap:1rem}"
    ".frontier{width:100%;max-width:760px;height:auto}"
    ".frontier text{fill:var(--page-muted);font-size:13px}"
    ".frontier .grid{stroke:var(--page-line);stroke-width:.5}"
    ".frontier .ring{fill:none;stroke:var(--page-text);stroke-width:2}"
    "pre{font-size:.85rem}li{margin:.15rem 0}ol+p,ul+p{margin-bottom:1rem}"
)


def run_report(store: RunStore, runs: Sequence[Run]) -> str:
    """Return the report of one run, or of two to four that compare, as HTML.

    It needs no server and no other file, and holds nothing that changes from one making
    to the next: from the same run folders comes the same text. Runs are of one table,
    target and seed. LookupError if one has no model, or its table is gone; ValueError
    if several do not compare, or are too many.
    """
    found = read_facts(store, runs)
    trees, drawn = _tree_section(found)
    sections = [result_section(found), trees]
    is_scored = found[0].is_scored
    if any(own.line is not None for own in found):
        sections.append(_frontier_section(found))
    if is_scored:
        why = section("Why it predicts what it does", _of_each(found, _explained_rows))
        sections += [errors_section(found), why]
    sections += [limits_section(found), data_section(found[0])]
    sections += [scores_section(found)] if is_scored else []
    sections.append(training_section(found))
    title = runs[0].title
    if len(found) > 1:
        *rest, last = (own.name for own in found)
        title = f"{', '.join(rest)} and {last} · {runs[0].problem.table_name}"
    in_html = "\n".join(text for text, _ in sections)
    body = f"<h1>{html.escape(title)}</h1>\n{in_html}\n"
    return document(title, body, drawn, style=_STYLE)


def model_card(store: RunStore, run: Run) -> str:
    """Return a run's model card in Markdown; its intended use is left to be filled in.

    LookupError if the run has no model, or its table is gone.
    """
    (facts,) = found = read_facts(store, [run])
    use = section("Intended use", [paragraph(INTENDED_USE)])
    sections = [use, result_section(found), data_section(facts)]
    sections.append(training_section(found))
    if facts.is_scored:
        sections += [scores_section(found), errors_section(found)]
    sections.append(limits_section(found))
    return (
        "\n\n".join([f"# {_plain(run.title)}", *(text for _, text in sections)]) + "\n"
    )


def _tree_section(found: Sequence[RunFacts]) -> tuple[Block, dict[str, dict]]:
    """Return a section with a place for each tree, and what is drawn there."""
    drawn: dict[str, dict] = {}
    scale = value_scale([own.tree for own in found]) if len(found) > 1 else None

    def draw(own: RunFacts) -> Iterator[Block]:
        name, fitted = f"tree-{len(drawn)}", own.run.fitted_split
        tree = without_origin(own.tree, own.run.provenance)
        rows = own.split.rows(fitted)
        payload = tree_payload(tree, *rows, split=fitted, title=own.name)
        drawn[name] = payload | view_settings(
            scale=scale, controls=True, height=TREE_HEIGHT, heading=False
        )
        yield paragraph(_tree_words(own))
        shown = (
            f'<div id="{name}" class="tree"></div>'
            "<details><summary>The tree as text</summary>"
            f"<pre>{html.escape(to_text(tree))}</pre></details>"
        )
        yield shown, ""

    title = "The tree" if len(found) == 1 else "The trees"
    return section(title, _of_each(found, draw)), drawn


def _tree_words(own: RunFacts) -> str:
    """Say what is drawn, over which rows, and how it came about."""
    rows = f"Rows and bars in the picture: {ROWS_LABELS[own.run.fitted_split]}."
    which = ""
    if isinstance(own.model, WeightedTrees):
        which = (
            f"Tree {own.estimator}, the one of highest weight on the test rows, of "
            f"{counted(own.model.n_estimators, 'tree')} that predict together."
        )
    return " ".join(filter(None, (which, rows, own.run.provenance)))


def _frontier_section(found: Sequence[RunFacts]) -> Block:
    """Draw score against size, and list it."""
    lines = [own.line for own in found if own.line is not None]
    column = frontier_column(lines)
    if column is None:
        return section("Score against size", [])
    tables = [_size_table(own) for own in found if own.line is not None]
    if len({own.run.loss for own in found}) > 1:
        words = "Runs of different losses have no common chart against size."
        return section("Score against size", [paragraph(words), *tables])
    held_out_titles = {own.run.held_out_title for own in found}
    if column == HELD_OUT and len(held_out_titles) > 1:  # of costs, and of none
        column = TEST
    of = {HELD_OUT: ("held-out rows", "valid"), TEST: ("test rows", "test")}
    rows_words, split = of[column]
    named = []
    for own in found:
        score = own.run.metrics.get(split, {}).get(own.metric, float("nan"))
        color = learner_color(own.run.learner, own.run.settings)
        named.append(DrawnLine(own.name, color, own.line, score))
    metric = found[0].metric_title
    if column == HELD_OUT:
        (metric,) = held_out_titles
    title = f"{metric}, {rows_words}"
    blocks: list[Block] = [
        (frontier_svg(named, column, title), ""),
        paragraph(_finding_words(found, column, title), strong=True),
        paragraph(
            "The best tree of each size. Ring: the tree that the run retained. "
            "Held-out rows are those of cross-validation, or the validation rows; test "
            "rows chose nothing."
        ),
    ]
    return section("Score against size", [*blocks, *tables])


def _finding_words(found: Sequence[RunFacts], column: str, title: str) -> str:
    """Say what the runs reach at the size of the smallest tree that one retained.

    Held-out rows choose the tree of each run, also where test rows score it.
    """
    lines = [own.line for own in found if own.line is not None]
    n_leaves = min(
        int(line.table["leaves"].iloc[-1 if line.chosen is None else line.chosen])
        for line in lines
    )
    reached = ", ".join(
        f"{own.name} {significant(own.line.score_within(column, n_leaves))}"
        for own in found
        if own.line is not None
    )
    first = title[:1].upper() + title[1:]
    return f"{first}, at most {counted(n_leaves, 'leaf', 'leaves')}: {reached}."


def _size_table(own: RunFacts) -> Block:
    """List a run's trees by size."""
    assert own.line is not None
    columns = ["leaves", HELD_OUT, "standard_error", TEST]
    rows = [
        [
            f"{leaves:,}" + " (retained)" * (place == own.line.chosen),
            *("" if np.isnan(value) else significant(value) for value in values),
        ]
        for place, leaves, *values in own.line.table[columns].itertuples()
    ]
    head = [
        "leaves",
        f"{own.run.held_out_title}, held-out rows",
        "standard error",
        f"{TITLES[own.run.headline]}, test rows",
    ]
    return table(head, rows, f"{own.name}: scores of {counted(len(rows), 'size')}")

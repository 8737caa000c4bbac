"""A report of one run, or of a comparison, as one HTML file; a run's model card."""

import html
from collections.abc import Sequence

from treelab.evaluation.frontier import HELD_OUT
from treelab.figures.style.colors import learner_color
from treelab.figures.viewer.legend import value_scale
from treelab.figures.viewer.page import document
from treelab.figures.viewer.payload import ROWS_LABELS, tree_payload, view_settings
from treelab.reports.blocks import (
    Block,
    Paragraph,
    Picture,
    Section,
    Subtitle,
    Table,
    to_html,
    to_markdown,
)
from treelab.reports.facts import RunFacts, read_facts
from treelab.reports.frontier_svg import NamedLine, frontier_column, frontier_svg
from treelab.reports.limits import limits_section
from treelab.reports.sections import (
    data_section,
    errors_section,
    explanations_section,
    result_section,
    scores_section,
    training_section,
)
from treelab.runs.jobs.model_facts import without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text.numerals import counted, significant
from treelab.trees.text.rules import to_text

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

    It needs no server and no other file, and holds nothing that changes from one
    making to the next: from the same run folders comes the same text.

    Parameters
    ----------
    store : RunStore
    runs : sequence of Run
        One to four, of one table, target and seed.

    Raises
    ------
    LookupError
        If a run has no model, or its table is gone.
    ValueError
        If several runs do not compare, or are too many.
    """
    found = read_facts(store, runs)
    trees, drawn = _tree_section(found)
    sections = [result_section(found), trees]
    if any(own.line is not None for own in found):
        sections.append(_frontier_section(found))
    if found[0].is_scored:
        sections += [errors_section(found), explanations_section(found)]
    sections += [limits_section(found), data_section(found[0])]
    if found[0].is_scored:
        sections.append(scores_section(found))
    sections.append(training_section(found))
    title = runs[0].title
    if len(found) > 1:
        *rest, last = (own.name for own in found)
        title = f"{', '.join(rest)} and {last} · {runs[0].problem.table_name}"
    body = f"<h1>{html.escape(title)}</h1>\n{to_html(sections)}"
    return document(title, body, drawn, style=_STYLE)


def model_card(store: RunStore, run: Run) -> str:
    """Return a run's model card in Markdown; its intended use is left to be filled in.

    Raises
    ------
    LookupError
        If the run has no model, or its table is gone.
    """
    (facts,) = found = read_facts(store, [run])
    use = Section("Intended use", [Paragraph(INTENDED_USE)])
    sections = [
        use,
        result_section(found),
        data_section(facts),
        training_section(found),
    ]
    if facts.is_scored:
        sections += [scores_section(found), errors_section(found)]
    sections.append(limits_section(found))
    title = " ".join(to_markdown([Section(run.title)]).split()[1:])
    return f"# {title}\n\n{to_markdown(sections)}"


def _tree_section(found: Sequence[RunFacts]) -> tuple[Section, dict[str, dict]]:
    """Return a section with a place for each tree, and what is drawn there."""
    blocks: list[Block] = []
    drawn = {}
    scale = value_scale([own.tree for own in found]) if len(found) > 1 else None
    for number, own in enumerate(found):
        name = f"tree-{number}"
        run = own.run
        tree = without_origin(own.tree, run.provenance)
        rows = own.split.rows(run.fitted_split)
        payload = tree_payload(tree, *rows, split=run.fitted_split, title=own.name)
        drawn[name] = payload | view_settings(
            scale=scale, controls=True, height=TREE_HEIGHT, heading=False
        )
        if len(found) > 1:
            blocks.append(Subtitle(own.name))
        blocks.append(Paragraph(_tree_words(own)))
        blocks.append(
            Picture(
                f'<div id="{name}" class="tree"></div>'
                "<details><summary>The tree as text</summary>"
                f"<pre>{html.escape(to_text(tree))}</pre></details>"
            )
        )
    return Section("The tree" if len(found) == 1 else "The trees", blocks), drawn


def _tree_words(own: RunFacts) -> str:
    """Say what is drawn, over which rows, and how it came about."""
    rows = f"Rows and bars in the picture: {ROWS_LABELS[own.run.fitted_split]}."
    words = [rows, own.run.provenance]
    if isinstance(own.model, WeightedTrees):
        words.insert(
            0,
            f"Tree {own.estimator}, the one of highest weight on the test rows, of "
            f"{counted(own.model.n_estimators, 'tree')} that predict together.",
        )
    return " ".join(word for word in words if word)


def _frontier_section(found: Sequence[RunFacts]) -> Section:
    """Draw score against size, and list it."""
    lines = [own.line for own in found if own.line is not None]
    column = frontier_column(lines)
    if column is None:
        return Section("Score against size", [])
    rows_words = "held-out rows" if column == HELD_OUT else "test rows"
    split = "valid" if column == HELD_OUT else "test"
    named = [
        NamedLine(
            own.name,
            learner_color(own.run.learner, own.run.settings),
            own.line,
            own.run.metrics.get(split, {}).get(own.metric, float("nan")),
        )
        for own in found
    ]
    title = f"{found[0].metric_title}, {rows_words}"
    blocks: list[Block] = [
        Picture(frontier_svg(named, column, title)),
        Paragraph(_finding_words(found, column), strong=True),
        Paragraph(
            "The best tree of each size. Ring: the tree that the run retained. "
            "Held-out rows, of cross-validation or validation, chose the size; test "
            "rows chose nothing."
        ),
    ]
    for own in found:
        if own.line is not None:
            blocks.append(_size_table(own))
    return Section("Score against size", blocks)


def _finding_words(found: Sequence[RunFacts], column: str) -> str:
    """Say what the runs reach at the size of the smallest tree that one retained."""
    lines = [own.line for own in found if own.line is not None]
    n_leaves = min(
        int(line.table["leaves"].iloc[-1 if line.chosen is None else line.chosen])
        for line in lines
    )
    reached = ", ".join(
        f"{own.name} {significant(own.line.best(column, n_leaves))}"
        for own in found
        if own.line is not None
    )
    return f"With at most {counted(n_leaves, 'leaf', 'leaves')}: {reached}."


def _size_table(own: RunFacts) -> Table:
    """List a run's trees by size."""
    assert own.line is not None
    table = own.line.table
    rows = [
        [
            f"{leaves:,}" + (" (retained)" if place == own.line.chosen else ""),
            *(
                significant(value) if value == value else ""
                for value in (held_out, error, test)
            ),
        ]
        for place, leaves, held_out, error, test in zip(
            table.index,
            table["leaves"],
            table["held_out"],
            table["standard_error"],
            table["test"],
        )
    ]
    head = ["leaves", "held-out rows", "standard error", "test rows"]
    return Table(head, rows, f"{own.name}: scores of {counted(len(rows), 'size')}")

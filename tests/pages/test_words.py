"""Words on a page are short, and text from a table stands as it is."""

import numpy as np
import pytest

from pages.compare.errors import undefined_words
from pages.widgets import words
from pages.widgets.words import plain
from tests.pages.conftest import APP
from treelab.evaluation.metrics import class_scores
from treelab.figures.style import contrast, palette, shade
from treelab.runs.run_words import duration


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (None, "–"),
        (0, "0.0 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (59.4, "59 s"),
        (119.7, "2 min 0 s"),
        (3600, "1 h 0 min"),
    ],
)
def test_durations_read_well(seconds, written):
    assert duration(seconds) == written


@pytest.mark.parametrize(
    "text", ["*a*", "$x$", "[a](b)", ":red[x]", "<b>", "a_b", "~~"]
)
def test_no_mark_of_markdown_is_left_bare(text):
    written = plain(text)
    assert written.replace("\\", "") == text
    for place, letter in enumerate(written):
        if letter in "*_$[]()<>:~":
            assert written[place - 1] == "\\"


def test_a_name_of_several_lines_ends_no_heading():
    assert plain("“a\r\n\n b” for 50%") == "“a b” for 50%"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_shades_step_back_towards_the_ground(mode):
    background = palette(mode).background
    steps = [contrast(shade("#0072B2", step, mode), background) for step in range(5)]
    assert steps[:4] == sorted(steps[:4], reverse=True)
    assert steps[3] == steps[4]
    assert steps[3] > 1.2


QUAINT = [
    "who answers",
    "what it says",
    "columns asked",
    "rows are dealt",
    "price of a leaf",
    "take it along",
    "who decided",
    "most say",
    "the way there",
    "next wrong answer",
    "guessing",
    "rows a leaf",
    "bring a tree",
    "circles ask",
    "squares answer",
    "reading the table",
]


@pytest.mark.parametrize("folder", ["pages", "treelab/figures", "treelab/reports"])
def test_pages_and_pictures_use_the_fields_words(folder):
    files = [
        *(APP.parent / folder).rglob("*.py"),
        *(APP.parent / "assets").rglob("*.js"),
    ]
    found = [
        (str(path), words)
        for path in files
        for words in QUAINT
        if words in path.read_text("utf-8").lower()
    ]
    assert not found


def test_what_a_callback_was_refused_is_said_on_the_next_page(monkeypatch):
    def delete():
        raise ValueError("A run needs this table; delete the run first.")

    monkeypatch.setattr(words.st, "session_state", {})
    words.explained(delete)()
    assert "A run needs this table" in str(words.st.session_state["what-failed"])


def test_a_class_without_a_score_has_a_reason():
    scores = class_scores(np.array([[5, 0, 0], [2, 0, 0], [0, 0, 0]]))
    assert undefined_words(["a", "b", "c"], scores) == (
        " –: no precision, as no test row was predicted so: “b” and “c”."
        " –: no recall, as no test row is of it: “c”."
    )

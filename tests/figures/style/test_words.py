"""Words of the pictures."""

from treelab.figures.style import escape_html, shorten


def test_text_of_a_table_is_no_markup():
    assert escape_html("<b>$x$ & y") == "&lt;b&gt;&#36;x&#36; &amp; y"


def test_long_words_end_in_an_ellipsis():
    assert shorten("mean concave points", 12) == "mean concav…"
    assert shorten("age", 12) == "age"

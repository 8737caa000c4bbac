import graphviz
import pytest

from treelab.figures import layout as export


@pytest.mark.skipif(not export.has_dot(), reason="Graphviz's dot is not installed.")
@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_dot_text_becomes_a_file(kind, start):
    file = export.picture_file('digraph { a -> b [label="é ≤ 1"] }', kind)
    assert file.startswith(start)


def test_without_dot_there_is_none_and_rendering_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not export.has_dot()
    with pytest.raises(graphviz.ExecutableNotFound):
        export.picture_file("digraph { a }", "svg")

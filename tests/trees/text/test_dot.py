import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table, make_target, make_tree
from treelab.trees.colors import (
    OKABE_ITO,
    OTHER,
    class_palette,
    mix,
    palette,
    value_color,
)
from treelab.trees.dot import to_dot
from treelab.trees.feature import Feature
from treelab.trees.losses import Loss
from treelab.trees.tree import Tree
from treelab.trees.words import clean

HOSTILE = [
    '<b>&amp; "q" \'q\' \\N \\" \\',
    "-->]]><script>alert(1)</script>",
    "line\nbreak\r\ttab\x00\x1b\ufffe\ud800",
    "\u202eright to left עברית العربية",
    "👩‍🔬 emoji 𝒳",
    "{|}=;#[]//",
    "long " * 60,
    "",
]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")


def draw(dot: str) -> ElementTree.Element:
    """The picture that Graphviz makes, without a warning, as parsed SVG."""
    done = subprocess.run(
        ["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True
    )
    # Fonts that this machine lacks are no fault of the text.
    warnings = [
        line for line in done.stderr.decode().splitlines() if "font" not in line.lower()
    ]
    assert warnings == []
    return ElementTree.fromstring(done.stdout)


def texts(svg: ElementTree.Element) -> str:
    """All that the picture writes, tooltips included."""
    words = [e.text or "" for e in svg.iter() if e.tag.endswith("}text")]
    tips = [
        value
        for e in svg.iter()
        for k, value in e.attrib.items()
        if k.endswith("}title")
    ]
    shown = "\n".join([*words, *tips]).replace("\xa0", " ")
    return re.sub("[\u2060\u2068\u2069]", "", shown)


def hostile_tree(name: str, other: str = "plain") -> Tree:
    """A tree whose column, categories, classes, target, unit and note have a name."""
    job = Feature("job", "category", categories=(name, other), scores=(0, 1))
    return Tree.complete(
        [Feature(name, unit=name), job],
        [0, 1, 0],
        [0.5, 0.5, 0.25],
        [False] * 3,
        np.array([[1, 0], [0.5, 0.5], [0.25, 0.75], [0, 1]]),
        classes=(name, other),
        target=name,
        notes=(name,),
    )


@needs_dot
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_as_they_are_and_break_nothing(name):
    svg = draw(to_dot(hostile_tree(name), max_name=400))
    shown = " ".join(texts(svg).split())
    wanted = clean(name).strip("\u2068\u2069")
    assert shown.count(f"{wanted} ≤ 0.5") == 2  # in the node, and in its tooltip
    assert [e for e in svg.iter() if e.tag.endswith("}script")] == []


@needs_dot
@settings(max_examples=25)
@given(st.text(max_size=30))
def test_any_name_can_be_drawn(name):
    draw(to_dot(hostile_tree(name, other=name + "2")))


@needs_dot
@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_leaves=st.integers(1, 12),
    n_classes=st.sampled_from([0, 2, 4]),
    mode=st.sampled_from(["light", "dark"]),
    max_depth=st.sampled_from([None, 0, 2]),
    oblique=st.sampled_from([0.0, 0.5]),
)
def test_every_tree_can_be_drawn(seed, n_leaves, n_classes, mode, max_depth, oblique):
    rng = np.random.default_rng(seed)
    tree = make_tree(
        rng, n_leaves, n_classes=n_classes, oblique=oblique, linear=n_classes == 0
    )
    table = make_table(rng, 60)
    if seed % 2:
        tree = tree.with_rows(table, make_target(rng, tree, 60))
    path = tree.path(table.iloc[[0]])
    svg = draw(
        to_dot(tree, mode=mode, highlight=path, direction="LR", max_depth=max_depth)
    )
    drawn = {e.attrib["id"] for e in svg.iter() if "id" in e.attrib}
    deepest = tree.depth if max_depth is None else max_depth
    shown = np.flatnonzero(tree.level <= deepest)
    assert {f"node-{node}" for node in shown} <= drawn
    assert not {f"node-{n}" for n in range(tree.n_nodes) if n not in shown} & drawn


def lines_of(dot: str, start: str) -> list[str]:
    """Lines that draw something whose name begins so."""
    return [line for line in dot.splitlines() if line.startswith(start)]


def test_a_node_shows_its_question_rows_and_classes():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 2, n_classes=2, infinite=0)
    table = make_table(rng, 200)
    tree = tree.with_rows(table, make_target(rng, tree, 200))
    (root,) = lines_of(to_dot(tree), "n0 [")
    assert "200 rows, 100%" in root
    for label, count, color in zip(tree.classes, tree.class_counts[0], OKABE_ITO):
        assert f'BGCOLOR="{color}"' in root
        assert f"{label}: {count / 2:g}%" in root
    widths = [int(w) for w in re.findall(r'WIDTH="(\d+)" HEIGHT="7" BG', root)]
    assert sum(widths) == pytest.approx(108, abs=2)


def test_edges_are_as_thick_as_their_share_and_never_invisible():
    tree = Tree.complete([Feature("a")], [0], [0.0], [0], [[1.0], [2.0]])
    tree = replace(tree, n_rows=[1000, 999, 1])
    left, right = lines_of(to_dot(tree), "n0 ->")
    assert 'label="\xa0\xa0yes\xa0\xa0"' in left
    assert 'label="\xa0\xa0no\xa0\xa0"' in right
    widths = [float(re.search(r'penwidth="([\d.]+)"', e)[1]) for e in (left, right)]
    assert widths[0] == pytest.approx(9, abs=0.02)
    assert widths[1] == 1


def test_the_side_of_missing_values_is_marked_where_there_were_some():
    tree = Tree.complete([Feature("a")], [0], [0.0], [False], [[1.0], [2.0]])
    tree = tree.with_rows(np.array([[1.0], [np.nan]]), [1.0, 2.0])
    left, right = lines_of(to_dot(replace(tree, features=[Feature("a")])), "n0 ->")
    assert "missing" not in left
    assert 'label="\xa0\xa0no or missing\xa0\xa0"' in right


def test_a_path_is_lit_and_nothing_beside_it():
    tree = make_tree(np.random.default_rng(1), 8)
    leaf = int(np.flatnonzero(tree.is_leaf)[-1])
    path = tree.path_to(leaf)
    accent = palette("light").accent
    dot = to_dot(tree, highlight=path)
    for node in range(tree.n_nodes):
        assert (accent in lines_of(dot, f"n{node} [")[0]) == (node in path)
    lit = [e for e in dot.splitlines() if "->" in e and accent in e]
    assert len(lit) == len(path) - 1


def test_what_lies_too_deep_is_counted():
    tree = Tree.complete(
        [Feature("a")], [0] * 7, [0.0] * 7, [False] * 7, np.zeros((8, 1))
    )
    dot = to_dot(tree, max_depth=1)
    assert dot.count("6 nodes more") == 2
    assert len(re.findall(r"^n\d+ \[", dot, re.M)) == 3


def test_inactive_branches_are_dashed():
    tree = Tree.complete(
        [Feature("a")], [0], [0.0], [0], [[1.0], [2.0]], activity=[1.0, 0.5, 0.0]
    )
    left, right = lines_of(to_dot(tree), "n0 ->")
    assert "dashed" not in left
    assert "dashed" in right


def test_long_names_are_cut_on_the_picture_and_whole_in_the_tooltip():
    name = "a very long name of a column that nobody wants to read in full"
    dot = to_dot(Tree.complete([Feature(name)], [0], [0.5], [0], [[1.0], [2.0]]))
    (root,) = lines_of(dot, "n0 [")
    label, tooltip = root.split("tooltip=")
    assert name not in re.sub("<BR/>", " ", label)
    assert name in tooltip


def test_a_value_has_the_same_colour_wherever_its_range_is_given():
    tree = Tree.complete([Feature("a")], [0], [0.5], [0], [[10.0], [20.0]])
    low, high = lines_of(to_dot(tree), "n1 [") + lines_of(to_dot(tree), "n2 [")
    assert value_color(0, 0, 1) in low
    assert value_color(1, 0, 1) in high
    wide = to_dot(tree, value_range=(0, 40))
    assert value_color(0.25, 0, 1) in lines_of(wide, "n1 [")[0]
    flat = to_dot(Tree.complete([], [], [], [], [[3.0]]))
    assert value_color(0.5, 0, 1) in flat


def test_only_eight_classes_have_colours_of_their_own():
    n = 20
    value = np.full((1, n), 1 / n)
    tree = Tree.complete([], [], [], [], value, classes=tuple(range(n)))
    tree = replace(tree, class_counts=[np.arange(n) + 1.0], n_rows=[210])
    colors, own = class_palette(tree, None)
    assert own == list(range(12, 20))
    assert [c for i, c in enumerate(colors) if i not in own] == [OTHER] * 12
    assert "12 other classes" in to_dot(tree)


def test_colours_may_be_given_by_label():
    tree = make_tree(np.random.default_rng(0), 3, n_classes=2)
    dot = to_dot(tree, palette={"yes": "#123456", "no": "#654321"})
    assert "#123456" in dot
    assert "#654321" in dot
    assert OKABE_ITO[0] not in dot


def contrast(first: str, second: str) -> float:
    """Contrast of two colours by WCAG 2.2, section 1.4.3."""

    def luminance(color):
        channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_can_be_read_on_every_leaf(mode):
    theme = palette(mode)
    scale = [value_color(x, 0, 1) for x in np.linspace(0, 1, 9)]
    for color in (*OKABE_ITO, OTHER, *scale):
        for tint in (0.04, 0.12):
            fill = mix(color, theme.panel, tint)
            assert contrast(theme.text, fill) >= 4.5
            assert contrast(theme.muted, fill) >= 4.5


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"mode": "grey"}, "mode"),
        ({"highlight": [99]}, "nodes 0 to"),
        ({"palette": ['"]; evil']}, "#0072B2"),
        ({"palette": []}, "palette"),
        ({"direction": "up"}, "direction"),
        ({"max_depth": -1}, "max_depth"),
    ],
)
def test_options_that_make_no_sense_are_refused(option, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_dot(make_tree(np.random.default_rng(0), 3), **option)


def test_what_a_value_is_called_follows_from_the_loss():
    tree = Tree.complete((Feature("a"),), [0], [0.5], [True], [[1.0], [2.0]])
    assert ">mean " in to_dot(tree)
    dot = to_dot(replace(tree, loss=Loss("quantile", 0.9)))
    assert ">0.9 quantile " in dot
    assert ">mean " not in dot

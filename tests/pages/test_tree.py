"""The Tree page."""

import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from pages.cached.runs import load_run
from pages.cached.tree_pictures import training_picture
from pages.widgets.words import LONGEST_RULE, short_rule
from tests.pages.shown import conditions, dots, nodes, page_text, viewers
from tests.pages.stores import add_run
from tests.slow_params import slow_after
from treelab.trees.code import LANGUAGES
from treelab.trees.feature import Feature
from treelab.trees.pruning import prune_to_size
from treelab.trees.text import rule_text
from treelab.trees.tree import Tree


def test_the_tree_stands_beside_its_test_score(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run)
    score = store.run(run).metrics["test"]["macro_f1"]
    assert app.metric[0].label == "macro F1 · test, 48 rows"
    assert app.metric[0].value == f"{score:.3f}"
    (view,) = viewers(app)
    assert "radius ≤ 10.1 mm" in conditions(view)
    assert view["rows"]["label"] == "training rows"


def test_rules_write_each_leaf_in_words_numbers_first(visit, store):
    text = page_text(visit("tree", run=add_run(store, "cart", "weight")))
    lines = re.findall("<tr><td>.*?</tr>", text)
    assert len(lines) == 4
    assert all("radius" in line.split("class='if'")[1] for line in lines)
    assert all("mm" in line for line in lines)
    rows = [int(re.match(r"<tr><td>(\d+)", line)[1]) for line in lines]
    assert rows == sorted(rows, reverse=True)


def test_a_rule_of_a_row_or_two_is_marked(visit, store):
    run = add_run(store, "cart")
    tree = store.model(run)
    leaves = np.flatnonzero(tree.is_leaf)
    rows = tree.n_rows.copy()
    rows[leaves[0]], rows[leaves[1]] = 1, 3
    store.add_model(run, replace(tree, n_rows=rows))
    text = page_text(visit("tree", run=run))
    assert "<mark>1 row</mark>" in text
    assert "<mark>3" not in text


def test_sums_are_named_in_rules_and_written_once(visit, store):
    text = page_text(visit("tree", run=add_run(store, "get", "weight")))
    assert "<td class='if'>S1 ≤ 14 and S2 ≤ 3</td>" in text
    assert text.count("<th>S1</th>") == 1
    assert "+ 1 × radius" in text


TEXTS = [
    "Interactive page (HTML)",
    "Picture (DOT)",
    "Python function",
    "SQL CASE",
    "C function",
    "PMML",
    *(["ONNX"] if find_spec("onnx") else []),
    "Rules (text)",
    "Model (treelab.load)",
    "Data (JSON)",
]


@pytest.mark.parametrize(
    ("dot", "pictures"),
    [(True, ["Picture (SVG)", "Picture (PDF)"]), (False, [])],
    ids=["with-dot", "without-dot"],
)
def test_the_tree_can_be_exported(visit, store, monkeypatch, dot, pictures):
    monkeypatch.setattr("pages.widgets.export.has_dot", lambda: dot)
    app = visit("tree", tab="Export", run=add_run(store, "cart"))
    assert app.selectbox(key="export-as").options == [*pictures, *TEXTS]
    assert ("SVG and PDF need Graphviz" in page_text(app)) == (not dot)


@pytest.mark.parametrize("learner", ["cart", "grande"])
def test_the_tree_can_be_exported_as_code(visit, store, learner):
    app = visit("tree", tab="Export", run=add_run(store, learner))
    for title in ("Python function", "SQL CASE", "C function"):
        app.selectbox(key="export-as").select(title).run()
        assert not app.exception
        button, *documents = app.get("download_button")
        assert button.proto.help == f"{title} of this tree, as a file."
        assert "Runs without treelab" in page_text(app)
        assert ("not the ensemble's" in page_text(app)) == (learner == "grande")
    assert [each.proto.label for each in documents] == ["Report", "Model card"]


def test_what_a_predictor_on_top_predicts_is_not_exported_as_code(visit, store):
    app = visit("tree", tab="Export", run=add_run(store, "argmin"))
    code = {title for title, _, _ in LANGUAGES.values()} | {"ONNX"}
    assert not code & set(app.selectbox(key="export-as").options)
    assert "As code it would predict otherwise" in page_text(app)


def test_an_ensemble_says_that_all_its_trees_predict(visit, store):
    run = add_run(store, "grande")
    app = visit("tree", tab="Export", run=run)
    assert "The ensemble predicts, not this one tree." in page_text(app)
    before = viewers(app)
    others = [b for b in app.button if b.key and b.key.startswith(f"open-{run}")]
    others[1].click().run()
    assert viewers(app) != before
    assert not app.exception
    app.selectbox(key="export-as").select("The whole ensemble as a C function").run()
    assert "returns the ensemble's prediction" in page_text(app)


def test_a_tree_under_a_predictor_says_so(visit, store):
    (view,) = viewers(visit("tree", run=add_run(store, "argmin")))
    assert "predictor on top" in " ".join(view["trees"][0]["notes"])


def plain_picture(app, run):
    return app.selectbox(key=f"view-{run}").set_value("Static drawing").run()


def test_the_drawing_has_the_colours_of_the_ground(visit, store):
    run = add_run(store, "cart")
    app = plain_picture(visit("tree", run=run), run)
    assert not viewers(app)
    assert "#17211D" in dots(app)[0]


def test_the_address_selects_a_node_and_the_panel_shows_it(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run, node="r0")
    view = viewers(app)[0]
    assert view["select"] == {"key": "0", "version": 0}
    (node,) = [n for n in nodes(view) if n["key"] == "0"]
    text = page_text(app)
    assert f"<td>{node['rows']:,}</td>" in text
    assert "Rows with radius ≤ 10.1 mm." in text
    assert not app.metric
    app.button(key="node-rows").click().run()
    rows = app.dataframe[0].value
    assert (rows["radius"] <= 10.1).all()
    names = ["test row", "row of the table", "kind", "radius"]
    assert list(rows.columns[:4]) == names
    problem = store.run(run).problem
    X = problem.split(store.table(problem.table_id)).X_test
    first = rows.iloc[0]  # numbered as Follow rows and Explain do
    assert X["radius"].iloc[first["test row"] - 1] == first["radius"]
    assert X.index[first["test row"] - 1] + 1 == first["row of the table"]
    app.segmented_control(key=f"rows-of-{run}").set_value("train")
    app.button(key="node-rows").click().run()
    assert len(app.dataframe[0].value) == node["rows"]


@pytest.mark.parametrize("node", slow_after(3, ["r01", "r1111111", "x", "r", "r0", ""]))
@pytest.mark.parametrize("target", ["kind", "weight"])
def test_no_address_breaks_the_page(visit, store, node, target):
    app = visit("tree", run=add_run(store, "cart", target), node=node)
    assert not app.exception
    there = node in ("r", "r0", "r01")
    assert ("node-facts" in page_text(app)) == there


def test_two_rows_are_followed_in_two_colours(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run)
    app.number_input(key=f"follow-First-{run}").set_value(1).run()
    app.number_input(key=f"follow-Second-{run}").set_value(2).run()
    first, second = viewers(app)[0]["paths"]
    split = store.run(run).problem.split(store.table(store.run(run).problem.table_id))
    tree = store.model(run)
    assert len(first["keys"]) == len(tree.path(split.X_test.iloc[[0]]))
    assert first["color"] != second["color"]
    assert first["keys"][0] == second["keys"][0] == ""


def test_a_class_colours_the_picture(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run)
    color = app.selectbox(key=f"color-{run}")
    assert color.options == ["prediction", "rough", "fine", "small"]
    color.set_value(2).run()
    assert viewers(app)[0]["flow"] == {"class": "fine"}
    weights = visit("tree", run=add_run(store, "cart", "weight"))
    assert not [box for box in weights.selectbox if f"{box.key}".startswith("color")]


def test_a_class_called_prediction_colours_the_picture(visit, store, monkeypatch):
    classes = "pages.widgets.tree_choices.ranked_classes"
    monkeypatch.setattr(classes, lambda loaded: ["fine", "prediction"])
    run = add_run(store, "cart")
    app = visit("tree", run=run)
    assert len({*app.selectbox(key=f"color-{run}").options}) == 3
    app.selectbox(key=f"color-{run}").set_value(2).run()
    assert viewers(app)[0]["flow"] == {"class": "prediction"}


def test_other_rows_can_be_counted(visit, store):
    app = visit("tree", run=add_run(store, "cart"))
    app.segmented_control(key="tree-rows").set_value("test").run()
    assert viewers(app)[0]["rows"] == {
        "split": "test",
        "label": "test rows",
        "total": 48,
    }


@pytest.mark.parametrize(
    ("learner", "scored"),
    [("cart", "validation, 48 rows"), ("gradtree", "192 rows it was fitted to")],
)
def test_snapshots_become_frames_and_the_final_tree_is_the_last(
    visit, store, learner, scored
):
    run = add_run(store, learner)
    tree = store.model(run)
    store.add_snapshot(run, 3, tree)
    store.add_snapshot(run, 8, tree)
    app = visit("tree", run=run)
    app.selectbox(key=f"view-{run}").set_value("Training").run()
    frames = viewers(app)[0]["frames"]
    assert frames["labels"] == ["epoch 3", "epoch 8", "final tree"]
    assert frames["chosen"] == 2
    assert len(frames["scores"]) == 3
    assert frames["score_label"].endswith(scored)


def test_snapshots_within_an_epoch_are_each_the_tree_that_they_show(store):
    run = add_run(store, "cart")
    tree = store.model(run)
    trees = [prune_to_size(tree, 2), tree]
    for epoch, own in zip((0.02, 0.04), trees):
        store.add_snapshot(run, epoch, own)
    picture = training_picture(load_run(store.run(run)), tree)
    assert [own.n_leaves for own in picture.trees] == [
        own.n_leaves for own in (*trees, tree)
    ]


@pytest.mark.parametrize("view", ["Icicle", "Sunburst"])
@pytest.mark.parametrize(
    "learner",
    [
        "cart",
        pytest.param("grande", marks=pytest.mark.slow),
        pytest.param("argmin", marks=pytest.mark.slow),
    ],
)
def test_the_tree_is_also_shown_as_areas(visit, store, learner, view):
    run = add_run(store, learner)
    app = visit("tree", run=run)
    app.selectbox(key=f"view-{run}").set_value(view).run()
    assert not app.exception
    (chart,) = [c for c in app.get("plotly_chart") if view.lower() in c.proto.spec]
    assert "as large as their rows" in page_text(app)
    assert chart.proto.spec.count('"customdata"') == 1


def test_a_node_that_is_selected_stays_so_among_areas(visit, store):
    run = add_run(store, "cart")
    app = visit("tree", run=run, node="r0")
    app.selectbox(key=f"view-{run}").set_value("Icicle").run()
    assert "radius ≤ 10.1 mm" in page_text(app)
    assert not app.metric


@pytest.mark.slow
def test_more_trees_of_an_ensemble_can_be_shown(visit, store):
    run = add_run(store, "grande")
    app = visit("tree", run=run)

    def thumbnails():
        return [b for b in app.button if b.key and b.key.startswith(f"open-{run}")]

    assert len(thumbnails()) == 6
    app.toggle(key=f"more-trees-{run}").set_value(True).run()
    shown = thumbnails()
    assert 6 < len(shown) <= 24
    shown[-1].click().run()
    last = shown[-1].key.rsplit("-", 1)[1]
    assert app.subheader[0].value.startswith(f"Tree {last} of")
    assert not app.exception


def test_a_node_of_one_run_is_not_selected_in_another(visit, store):
    first, second = add_run(store, "cart"), add_run(store, "gradtree")
    app = visit("tree", run=first, node="r0")
    app.selectbox(key="bar-run").set_value(second).run()
    assert viewers(app)[0]["select"] is None
    assert "node" not in app.query_params


def test_a_long_weighted_sum_is_cut_to_three_terms():
    n = 40
    features = tuple(Feature(f"a column with a long name {j}") for j in range(n))
    weights = np.arange(1.0, n + 1)[None]
    tree = Tree.complete(
        features, None, [1.0], [False], np.array([[1.0], [2.0]]), weights=weights
    )
    assert len(rule_text(tree, 1)) > LONGEST_RULE
    assert "37 more terms" in short_rule(tree, 1)
    assert short_rule(tree, 0) == "every row"


@pytest.mark.slow
def test_a_lens_drops_small_terms_and_says_what_it_costs(visit, store):
    run = add_run(store, "argmin")
    app = visit("tree", run=run)
    assert not app.select_slider  # nothing is measured before it is asked for
    app.toggle(key="lens").set_value(True).run()
    for fraction in (0.0, 1.0):
        app.select_slider(key=f"lens-{run}").set_value(fraction).run()
        assert not app.exception
        assert "changes on 0 of" in page_text(app) or fraction == 1.0
    assert "Splits name 1.0 features on average" in page_text(app)
    assert not [
        t for t in visit("tree", run=add_run(store, "cart")).toggle if t.key == "lens"
    ]


def test_a_run_that_ended_since_it_was_listed_shows_its_model(store):
    run_id = add_run(store, "cart")
    listed = replace(store.run(run_id), state="running", has_model=False)
    assert store.snapshots(run_id) == []
    assert load_run(listed).epoch is None

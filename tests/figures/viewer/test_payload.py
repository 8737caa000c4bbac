"""The payload of the viewer says what the tree says."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.figures.small_trees import complete_tree, number_tree, stump_and_more
from tests.trees.make import make_table, make_target, make_tree
from treelab.figures.viewer.payload import (
    MOST_BYTES,
    MOST_NODES,
    Frames,
    keys,
    node_at,
    row_path,
    to_json,
    tree_payload,
    value_scale,
)
from treelab.trees.cells import CellForm
from treelab.trees.colors import OTHER, VIRIDIS, NodeColors
from treelab.trees.dates import ISO
from treelab.trees.dot import to_dot
from treelab.trees.feature import Feature
from treelab.trees.losses import Loss
from treelab.trees.tree import Tree


def random_case(seed: int, n_rows: int = 150, **options):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, int(rng.integers(2, 16)), **options)
    X = make_table(rng, n_rows)
    return tree, X, make_target(rng, tree, n_rows)


def only(payload: dict) -> list[dict]:
    (tree,) = payload["trees"]
    return tree["nodes"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("oblique", [0.0, 0.5])
def test_nodes_count_the_rows_that_pass_them(seed, oblique):
    tree, X, y = random_case(seed, oblique=oblique)
    payload = tree_payload(tree, X, y)
    labels = [entry["label"] for entry in payload["classes"]]
    counts = tree.node_counts(X, y)
    assert len(only(payload)) == tree.n_nodes
    for entry in only(payload):
        per_class = counts[entry["id"]]
        assert entry["rows"] == per_class.sum()
        if entry["rows"]:
            shares = [per_class[tree.classes.index(label)] for label in labels]
            np.testing.assert_allclose(
                entry["shares"], np.array(shares) / per_class.sum(), atol=1e-5
            )


@pytest.mark.parametrize("seed", range(4))
def test_histograms_tell_how_many_rows_go_left(seed):
    tree, X, y = random_case(seed, oblique=0.3, infinite=0.0)
    rows = tree.node_counts(X)
    for entry in only(tree_payload(tree, X, y)):
        if "hist" not in entry:
            continue
        hist, node = entry["hist"], entry["id"]
        total = [sum(bar) for bar in hist["counts"]]
        if "left" in hist:
            left = sum(n for n, side in zip(total, hist["left"]) if side)
        else:
            left = sum(total[: hist["edges"].index(entry["threshold"])])
        if entry.get("missing") == "left":
            left += entry["missing_rows"]
        assert left == rows[tree.left[node]]
        assert sum(total) + entry.get("missing_rows", 0) == rows[node]


@pytest.mark.parametrize("seed", range(4))
def test_leaves_answer_as_the_tree_predicts(seed):
    tree, X, y = random_case(seed)
    by_id = {entry["id"]: entry for entry in only(tree_payload(tree, X, y))}
    said = [by_id[leaf]["prediction"] for leaf in tree.apply(X)]
    assert said == [str(label) for label in tree.predict(X)]


def test_keys_lead_to_their_nodes_and_parents_come_first():
    tree, X, y = random_case(3)
    nodes = only(tree_payload(tree, X, y))
    for place, entry in enumerate(nodes):
        assert node_at(tree, entry["key"]) == entry["id"]
        if entry["parent"] < 0:
            assert entry["key"] == ""
        else:
            assert entry["parent"] < place
            assert nodes[entry["parent"]]["key"] == entry["key"][:-1]
    assert node_at(tree, "0" * 50) is None
    assert node_at(tree, "x") is None


def test_one_extreme_leaf_takes_no_scale_of_colours():
    tree = Tree.complete(
        [Feature("x")], [0, 0, 0], [1, 0, 2], [False] * 3, [[1.0], [2], [3], [900]]
    )
    X = pd.DataFrame({"x": [0.0] * 40 + [1.0] * 40 + [2.0] * 40 + [3.0]})
    tree = tree.with_rows(X, tree.predict(X))
    assert value_scale([tree]) == {"low": 1.0, "high": 3.0, "above": True}
    assert NodeColors(tree, None, None, "light").of(6)[0] == VIRIDIS[-1].upper()
    legend = to_dot(tree).split("label=<")[1].split(">;")[0]
    assert "mean target 1" in legend
    assert "≥ 3" in legend
    often = tree.with_rows(pd.concat([X, X[-1:], X[-1:]]), np.ones(123))
    assert value_scale([often]) == {"low": 1.0, "high": 900.0}
    assert value_scale([replace(tree, n_rows=0 * tree.n_rows)])["high"] == 900


def test_a_number_target_has_means_and_one_axis_of_bars():
    tree, X, y = number_tree()
    payload = tree_payload(tree, X, y)
    root, left, _ = only(payload)
    assert payload["scale"] == {"low": 2.0, "high": 6.0}
    assert payload["classes"] == []
    assert root["mean"] == pytest.approx(y.mean(), abs=1e-4)
    assert left["prediction"] == "2 kg"
    assert left["std"] == pytest.approx(y[:20].std(), abs=1e-4)
    edges = [entry["target_hist"]["edges"] for entry in only(payload)]
    assert edges[0] == edges[1] == edges[2]
    counts = np.array(root["target_hist"]["counts"])  # as those of a split: by class
    assert counts.shape == (len(edges[0]) - 1, 1)
    assert counts.sum() == len(y)
    assert root["gain"] == pytest.approx(y.var() - y[:20].var(), rel=1e-4)
    far = np.append(np.repeat(y, 10), 1e4)  # beyond the bars that the last one holds
    X = pd.concat([X.loc[X.index.repeat(10)], X.tail(1)])
    ends = [e["target_hist"]["open"] for e in only(tree_payload(tree, X, far))]
    assert ends == [[False, True], [False, False], [False, True]]


@pytest.mark.parametrize(
    ("loss", "word"),
    [
        (None, "mean"),
        (Loss("poisson"), "mean"),
        (Loss("absolute_error"), "median"),
        (Loss("quantile", 0.9), "0.9 quantile"),
        (Loss("huber", 1.0), "prediction"),
    ],
)
def test_what_a_prediction_is_follows_from_the_loss(loss, word):
    tree, X, y = number_tree()
    assert tree_payload(replace(tree, loss=loss), X, y)["target"]["value"] == word


def test_predicted_times_are_known_as_such():
    tree = make_tree(np.random.default_rng(0), n_classes=0)
    tree = replace(tree, target_unit="hours")
    assert tree_payload(tree)["target"]["unit"] == "hours"
    times = replace(tree, target_form=CellForm(unit="hours", times="h:mm"))
    target = tree_payload(times)["target"]
    assert (target["unit"], target["times"]) == ("", True)


def test_several_outputs_have_a_number_and_words_each():
    tree, X, y = number_tree()
    both = np.stack([y, 1000 * y], axis=1)
    value = np.stack([tree.value[:, 0], 1000 * tree.value[:, 0]], axis=1)
    tree = replace(tree, value=value, outputs=("light", "heavy"), target_unit="")
    payload = tree_payload(tree, X, both)
    ends = [(own["name"], own["low"], own["high"]) for own in payload["outputs"]]
    assert ends == [("light", 2, 6), ("heavy", 2000, 6000)]
    root, left, _ = only(payload)
    assert left["outputs"] == [[2, "2"], [2000, "2,000"]]
    assert left["prediction"] == "light: 2; heavy: 2,000"
    assert root["impurity"] == pytest.approx(1)
    assert "std" not in root  # targets have no common unit


def test_quantiles_have_one_scale_and_their_outermost_are_the_interval():
    tree, X, y = number_tree()
    value = tree.value + np.array([-1.0, 0.0, 2.0])
    names, loss = ("q1", "q5", "q9"), Loss("quantile", (0.1, 0.5, 0.9))
    tree = replace(tree, value=value, outputs=names, loss=loss, target_unit="")
    payload = tree_payload(tree, X, y)
    assert {(own["low"], own["high"]) for own in payload["outputs"]} == {(1, 8)}
    _, left, _ = only(payload)
    assert left["interval"] == ["80%", 1, 4]
    assert payload["scale"] == {"low": 2.0, "high": 6.0}  # of the median


def test_linear_leaves_say_their_formula():
    tree, X, y = random_case(1, n_classes=0, oblique=0.5, linear=True)
    leaves = [e for e in only(tree_payload(tree, X, y)) if "condition" not in e]
    formulas = [entry for entry in leaves if "formula" in entry]
    assert formulas
    assert all("prediction" not in entry for entry in formulas)


def test_an_oblique_split_lists_its_weights_largest_share_first():
    tree, X, y = random_case(0, oblique=1.0)
    for entry in only(tree_payload(tree, X, y)):
        if "weights" in entry and entry["rows"] > 1:
            shares = [share for _, _, share, _ in entry["weights"]]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) == pytest.approx(1, abs=1e-4) or sum(shares) == 0


def test_an_oblique_split_carries_its_numbers_as_its_question_writes_them():
    tree, X, y = random_case(0, oblique=1.0)
    asking = [e for e in only(tree_payload(tree, X, y)) if "weights" in e]
    assert asking
    for entry in asking:
        assert entry["condition"].endswith(f"≤ {entry['bound']}")
        for name, weight, _, size in entry["weights"]:
            if "†" in name:
                column, number = name.split("†")
                name = f"[score {number} of {column}]".replace("  ", " ")
            term = name if size == "1" else f"{size}·{name}"
            sign = "−" if weight < 0 else ""
            assert sign in entry["condition"]
            assert term in entry["condition"]


def test_scores_of_categories_in_a_sum_are_told_below_the_picture():
    features = (
        Feature("sex", "category", "", 0.0, ("m", "f, x"), (0.75, -0.5), 0.0),
        Feature("age"),
    )
    tree = Tree.complete(features, None, [1.5], [False], [0, 1], weights=[[2.0, 0.5]])
    payload = tree_payload(tree)
    names = [name for name, *_ in only(payload)[0]["weights"]]
    assert sorted(names) == ["age", "sex†"]
    (note,) = payload["trees"][0]["notes"]
    assert note == "† counts by its category: sex “f, x” −0.5, “m” 0.75."


def test_scores_of_one_column_have_numbers():
    sex = Feature("sex", "category", "", 0.0, ("m", "f"), (0.75, -0.5), 0.0)
    features = (sex, replace(sex, scores=(0.1, 0.3)), Feature("age"))
    weights = [[2.0, 1.0, 0.5]]
    tree = Tree.complete(features, None, [1.5], [False], [0, 1], weights=weights)
    payload = tree_payload(tree)
    names = [name for name, *_ in only(payload)[0]["weights"]]
    assert sorted(names) == ["age", "sex†1", "sex†2"]
    (note,) = payload["trees"][0]["notes"]
    assert note.endswith("sex†1 “f” −0.5, “m” 0.75; sex†2 “m” 0.1, “f” 0.3.")
    words = "2·[score 1 of sex] + [score 2 of sex] + 0.5·age ≤ 1.5"
    assert only(payload)[0]["condition"] == words


def test_what_a_missing_value_counts_as_in_a_sum_is_said():
    tree, X, y = random_case(0, oblique=1.0)
    known = X.notna().all(axis=1).to_numpy()
    X, y = X[known].reset_index(drop=True), np.asarray(y)[known]
    features = tuple(
        replace(f, fill=2.5) if f.kind == "number" else f for f in tree.features
    )
    tree = replace(tree, features=features)
    used = np.flatnonzero((tree.weights != 0).any(axis=0))
    column = next(features[j].column for j in used if features[j].kind == "number")
    for missing in (False, True):
        if missing:
            X.loc[0, column] = np.nan
        notes = " ".join(tree_payload(tree, X, y)["trees"][0]["notes"])
        assert ("In a sum" in notes and f"{column} 2.5" in notes) == missing


def test_more_than_eight_classes_share_a_last_entry():
    tree, X = complete_tree(4, 160)
    classes = tuple(f"digit {i}" for i in range(10))
    value = np.eye(10)[np.arange(tree.n_nodes) % 10]
    tree = replace(tree, classes=classes, value=value, class_counts=None)
    y = np.array([classes[min(i // 10, 9)] for i in range(160)])
    payload = tree_payload(tree, X, y)
    entries = payload["classes"]
    assert len(entries) == 8
    assert entries[0]["label"] == "digit 9"  # the most frequent
    assert entries[-1] == {"label": "3 others", "color": OTHER, "other": True}
    assert all(sum(e["shares"]) == pytest.approx(1, abs=1e-4) for e in only(payload))


def test_colours_given_by_label_set_order_and_colour():
    tree, X, y = stump_and_more()
    colors = {"fine": "#111111", "small": "#222222", "rough": "#333333"}
    payload = tree_payload(tree, X, y, colors=colors)
    assert [e["label"] for e in payload["classes"]] == ["fine", "small", "rough"]
    assert only(payload)[1]["shares"] == [0, 1, 0]


def test_a_part_without_rows_is_drawn_from_the_tree_alone():
    tree, X, y = stump_and_more()
    payload = tree_payload(tree, X.iloc[:0], y[:0])
    assert payload["rows"]["total"] == 0
    to_json(payload)
    labels = [entry["label"] for entry in payload["classes"]]
    assert only(payload)[1]["shares"] == [float(name == "small") for name in labels]


@pytest.mark.parametrize("seed", range(3))
def test_without_rows_the_tree_s_own_numbers_are_shown(seed):
    n_classes = 3 * (seed % 2)
    tree, X, y = random_case(seed, n_classes=n_classes, oblique=0.5)
    tree = tree.with_rows(X, y)
    payload = tree_payload(tree)
    assert [e["rows"] for e in only(payload)] == tree.n_rows[
        [e["id"] for e in only(payload)]
    ].tolist()
    assert payload["rows"]["total"] == len(X)
    assert not any("hist" in e or "target_hist" in e for e in only(payload))
    if n_classes:
        assert payload["classes"] == tree_payload(tree, X, y)["classes"]


def test_rows_that_do_not_fit_are_refused():
    tree, X, y = stump_and_more()
    with pytest.raises(ValueError, match="one value for each"):
        tree_payload(tree, X, y[:-1])
    with pytest.raises(ValueError, match="frames"):
        tree_payload([tree, tree], X, y)


def frames_of(n: int, chosen: int) -> Frames:
    labels = [f"epoch {i}" for i in range(n)]
    return Frames("epoch", "epoch", range(n), labels, chosen)


def test_each_frame_has_its_tree():
    tree, X, y = stump_and_more()
    other = replace(tree, threshold=[5.5, np.nan, 2.5, np.nan, np.nan], between=None)
    payload = tree_payload([tree, other], X, y, frames=frames_of(2, 1))
    assert [t["nodes"][0]["threshold"] for t in payload["trees"]] == [9.5, 5.5]
    assert payload["frames"]["chosen"] == 1


def test_frames_too_many_are_left_out_evenly_but_not_the_chosen_one():
    tree, X = complete_tree(6, 300)
    y = tree.predict(X)
    payload = tree_payload([tree] * 60, X, y, frames=frames_of(60, 41))
    frames = payload["frames"]
    assert len(payload["trees"]) == len(frames["values"]) < 60
    assert frames["labels"][frames["chosen"]] == "epoch 41"
    assert frames["values"][-1] == 59
    assert len(to_json(payload).encode()) < MOST_BYTES


@pytest.mark.parametrize("depth", [8, 10, 12])
def test_no_payload_is_larger_than_its_limit(depth):
    tree, X = complete_tree(depth, 2**depth)
    payload = tree_payload(tree, X, tree.predict(X))
    assert len(to_json(payload).encode()) < MOST_BYTES
    nodes = only(payload)
    hidden = sum(entry.get("hidden", 0) for entry in nodes)
    assert len(nodes) + hidden == tree.n_nodes
    assert hidden == 0 or len(nodes) >= MOST_NODES - 2


def test_long_names_do_not_break_the_limit():
    categories = tuple(f"{i} {'long name ' * 30}" for i in range(60))
    rng = np.random.default_rng(0)
    tree, X = complete_tree(9, 600)
    job = Feature("job " * 50, "category", categories=categories, scores=range(60))
    tree = replace(
        tree,
        features=(tree.features[0], job),
        feature=np.where(tree.is_leaf, -1, 1),
        threshold=np.where(tree.is_leaf, np.nan, rng.integers(0, 59, tree.n_nodes)),
        between=None,
    )
    X = X.assign(**{"job " * 50: rng.choice(categories, 600)})
    payload = tree_payload(tree, X, tree.predict(X))
    assert len(to_json(payload).encode()) < MOST_BYTES


@settings(max_examples=60)
@given(st.text(max_size=30), st.text(min_size=1, max_size=30), st.text(max_size=9))
def test_awkward_names_are_written_as_json(column, category, unit):
    features = (
        Feature(column, unit=unit),
        Feature(
            "other" + column, "category", "", 0, (category, category + "x"), (0, 1)
        ),
    )
    tree = Tree.complete(
        features,
        [0, 1, 1],
        [0.5, 0.5, 0.5],
        [True, False, True],
        np.eye(2)[[0, 1, 0, 1]],
        classes=(category, category + "y"),
        target=column,
    )
    X = pd.DataFrame({column: [0.0, 1.0, np.nan]})
    X["other" + column] = [category, category + "x", None]
    # numpy's own texts lose a last zero character.
    labels = np.array(tree.classes, dtype=object)
    y = labels[tree.predict_proba(X).argmax(axis=1)]
    payload = json.loads(to_json(tree_payload(tree, X, y, title=column)))
    written = to_json(payload)
    written.encode()  # no lone surrogate
    assert payload["trees"][0]["nodes"][0]["missing"] == "left"
    row_path(tree, X.iloc[:1], column, "#000000")


def test_a_followed_row_says_what_it_holds():
    tree, X, _ = stump_and_more()
    followed = row_path(tree, X.iloc[[12]], "row 13", "#D55E00")
    assert followed.keys == ["", "1", "11"]
    assert followed.values == {"": "radius is 12 mm", "1": "texture is 2"}


def test_keys_say_the_way_from_the_root():
    tree, _, _ = stump_and_more()
    assert keys(tree) == ["", "0", "1", "10", "11"]


def test_dates_come_as_words():
    day = Feature("admitted", form=CellForm("date", date=ISO))
    X = pd.DataFrame({"admitted": pd.date_range("2018-01-01", periods=40, freq="7D")})
    tree = Tree.complete([day], [0], [2018.36], [False], [[1.0], [2.0]])
    tree = tree.with_rows(X, np.arange(40.0))
    root = only(tree_payload(tree, X, np.arange(40.0)))[0]
    assert root["condition"] == f"admitted before {root['bound']}"
    assert root["bound"] == "13 May 2018"
    assert [end[-4:] for end in root["hist"]["ends"]] == ["2018", "2018"]
    path = row_path(tree, X.iloc[[3]], "a row")
    assert path.values[""] == "admitted is 22 January 2018"

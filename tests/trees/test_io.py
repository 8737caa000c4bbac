import json
import math
import subprocess
import sys
import zipfile
from dataclasses import replace
from tempfile import NamedTemporaryFile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table, make_target, make_tree, same_arrays
from tests.trees.pruning.test_path import make_path
from tests.trees.test_ensemble import make_ensemble
from treelab import PruningPath, Tree, WeightedTrees, load
from treelab.trees.feature import Feature
from treelab.trees.io import Stored

SEEDS = st.integers(0, 2**32 - 1)


def make_model(seed):
    """A model of any type, from a seed."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([0, 2, 3]))
    kind = rng.integers(3)
    if kind == 0:
        oblique, n_leaves = rng.choice([0, 0.5]), int(rng.integers(1, 20))
        linear = n_classes == 0
        tree = make_tree(
            rng, n_leaves, n_classes=n_classes, oblique=oblique, linear=linear
        )
        table = make_table(rng, 20)
        return tree.with_rows(table, make_target(rng, tree, 20)) if seed % 2 else tree
    if kind == 1:
        return make_ensemble(rng, 4, int(rng.integers(0, 4)), n_classes)
    return make_path(
        rng,
        n_classes=n_classes,
        on_top=bool(seed % 2),
        hidden=(3,),
        uses_x=bool(seed % 3),
    )


def same(one, other) -> bool:
    """Whether two models are the same, to the last bit."""
    if isinstance(one, PruningPath):
        pairs = zip(one.trees, other.trees)
        arrays = [one.strengths.tobytes() == other.strengths.tobytes()]
        for a, b in zip(one.predictors, other.predictors):
            arrays.append((a is None) == (b is None))
            if a is not None:
                arrays += [
                    x.tobytes() == y.tobytes()
                    for first, second in zip(a.layers, b.layers)
                    for x, y in zip(first, second)
                ]
                arrays.append((a.activation, a.uses_x) == (b.activation, b.uses_x))
                arrays += [
                    getattr(a, n) is getattr(b, n) is None
                    or getattr(a, n).tobytes() == getattr(b, n).tobytes()
                    for n in ("x_mean", "x_scale")
                ]
        return (
            all(same_arrays(*pair) for pair in pairs)
            and all(arrays)
            and one.chosen == other.chosen
            and one.scores.equals(other.scores)
        )
    return type(one) is type(other) and same_arrays(one, other)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_a_model_comes_back_from_json_as_it_was(seed):
    model = make_model(seed)
    text = json.dumps(model.to_dict(), allow_nan=False)
    assert same(model, type(model).from_dict(json.loads(text)))
    assert same(model, Stored.from_dict(json.loads(text)))


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_model_comes_back_from_its_files_as_it_was(tmp_path_factory, seed):
    model = make_model(seed)
    path = tmp_path_factory.mktemp("models") / "some" / "model"
    model.save(path)
    assert sorted(p.name for p in path.iterdir()) == ["model.json", "model.safetensors"]
    assert same(model, load(path))
    assert same(model, type(model).load(str(path)))
    one = path.parent / "one.treelab"
    model.save(one)
    assert same(model, load(one))
    assert model.to_bytes() == one.read_bytes()
    table = make_table(np.random.default_rng(seed), 5)
    table = table[table["job"] != "Astronaut"]
    assert load(path).predict(table).tolist() == model.predict(table).tolist()


def test_a_model_may_be_saved_over_an_older_one(tmp_path):
    first, second = (
        make_tree(np.random.default_rng(0)),
        make_ensemble(np.random.default_rng(0), 2, 2),
    )
    first.save(tmp_path)
    second.save(tmp_path)
    assert same(second, load(tmp_path))


@pytest.mark.parametrize(
    "classes",
    [("a", "b"), (0, 1), (False, True), (0.5, 1.5), (1, "1"), ("é\n", "👩‍🔬")],
)
def test_labels_keep_their_type(tmp_path, classes):
    tree = Tree.complete([], [], [], [], [[0.5, 0.5]], classes=classes)
    tree.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.classes == classes
    assert [type(c) for c in loaded.classes] == [type(c) for c in classes]


def test_what_is_not_finite_comes_back(tmp_path):
    feature = Feature("a", "category", "", math.nan, ("x", "y"), (math.inf, -0.0))
    tree = Tree.complete([feature], [0], [-math.inf], [True], [[1.0], [2.0]])
    tree.save(tmp_path)
    loaded = load(tmp_path).features[0]
    assert math.isnan(loaded.fill)
    assert loaded.scores == (math.inf, 0.0)
    assert math.copysign(1, loaded.scores[1]) == -1


def test_a_score_table_keeps_its_missing_numbers(tmp_path):
    scores = pd.DataFrame({"strength": [0.0, 0.5, 1.0], "valid": [1.0, np.nan, 0.5]})
    path = replace(make_path(np.random.default_rng(0)), scores=scores)
    path.save(tmp_path)
    pd.testing.assert_frame_equal(load(tmp_path).scores, scores)


def test_no_model_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no treelab model .*lacks model.json"):
        load(tmp_path / "nothing")
    make_tree(np.random.default_rng(0)).save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks model.safetensors"):
        load(tmp_path)


def test_a_model_of_another_type_is_refused(tmp_path):
    make_tree(np.random.default_rng(0)).save(tmp_path)
    with pytest.raises(ValueError, match="a saved Tree, not a WeightedTrees"):
        WeightedTrees.load(tmp_path)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"null", b"\xff\xfe\x00", b"[" * 100_000]
)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, name, content):
    make_tree(np.random.default_rng(0)).save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"model"):
        load(tmp_path)


def flip(path, place):
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_bit_that_flipped_in_the_arrays_is_noticed(tmp_path):
    tree = make_tree(np.random.default_rng(0))
    tree.save(tmp_path)
    n_bytes = (tmp_path / "model.safetensors").stat().st_size
    for place in (n_bytes // 2, n_bytes - 1):
        flip(tmp_path / "model.safetensors", place)
        for read in (load, Tree.load):
            with pytest.raises(ValueError, match="not as they were saved"):
                read(tmp_path)
        flip(tmp_path / "model.safetensors", place)
    assert same(tree, load(tmp_path))


def test_settings_that_changed_and_arrays_of_another_model_are_noticed(tmp_path):
    for name, label in (("one", "yes"), ("other", "yea")):
        Tree.complete([], [], [], [], [[0.5, 0.5]], classes=("no", label)).save(
            tmp_path / name
        )
    make_tree(np.random.default_rng(0)).save(tmp_path / "third")
    text = (tmp_path / "one" / "model.json").read_text()
    (tmp_path / "one" / "model.json").write_text(text.replace("yes", "yea"))
    (tmp_path / "third" / "model.safetensors").replace(
        tmp_path / "other" / "model.safetensors"
    )
    for name in ("one", "other"):
        with pytest.raises(ValueError, match="not as they were saved"):
            load(tmp_path / name)


@pytest.mark.parametrize("indent", [None, 1])
def test_models_without_a_checksum_and_laid_out_otherwise_are_read(tmp_path, indent):
    tree = make_tree(np.random.default_rng(0))
    tree.save(tmp_path)
    path = tmp_path / "model.json"
    stored = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(stored, indent=indent), "utf-8")
    assert same(tree, load(tmp_path))
    del stored["sha256"]
    path.write_text(json.dumps(stored, indent=indent), "utf-8")
    assert same(tree, load(tmp_path))


def test_a_zip_of_files_that_changed_is_refused(tmp_path):
    make_tree(np.random.default_rng(0)).save(tmp_path)
    flip(tmp_path / "model.safetensors", -1)
    with zipfile.ZipFile(tmp_path / "one.treelab", "w") as archive:
        for name in ("model.json", "model.safetensors"):
            archive.write(tmp_path / name, name)
    with pytest.raises(ValueError, match=r"in one.treelab is damaged.*Use a copy"):
        load(tmp_path / "one.treelab")


def swap(stored, key, value):
    """The stored tree with one array's data exchanged."""
    array = {**stored["arrays"][key], **value}
    return {**stored, "arrays": {**stored["arrays"], key: array}}


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: None, "no arrays"),
        (lambda d: {**d, "version": 2}, "stored in version 2"),
        (lambda d: {**d, "version": None}, "version"),
        (lambda d: {**d, "type": "Forest"}, "type is unknown"),
        (lambda d: {**d, "type": ["Tree"]}, "type is unknown"),
        (lambda d: {**d, "settings": []}, "no settings"),
        (lambda d: {**d, "settings": {}}, "damaged"),
        (lambda d: {**d, "settings": {**d["settings"], "extra": 1}}, "damaged"),
        (lambda d: {**d, "settings": {**d["settings"], "features": 5}}, "damaged"),
        (lambda d: {**d, "settings": {**d["settings"], "features": [5]}}, "damaged"),
        (lambda d: {**d, "settings": {**d["settings"], "classes": 5}}, "damaged"),
        (lambda d: {**d, "arrays": {}}, "damaged"),
        (lambda d: {**d, "arrays": {"left": 3}}, "'left' of this model is damaged"),
        (lambda d: swap(d, "left", {"dtype": "object"}), "type 'object' is unknown"),
        (lambda d: swap(d, "left", {"shape": [2]}), "'left' of this model is damaged"),
        (lambda d: swap(d, "left", {"data": ["x"] * 5}), "damaged"),
        (lambda d: swap(d, "left", {"data": [1, 1, -1, -1, -1]}), "child of exactly"),
        (lambda d: swap(d, "left", {"data": [1, 99, -1, -1, -1]}), "nodes 1 to 4"),
        (lambda d: swap(d, "feature", {"data": [0, 77, -1, -1, -1]}), "feature"),
    ],
)
def test_damaged_models_are_refused_in_a_sentence(damage, sentence):
    tree = Tree.complete(
        [Feature("a")], [0, 0, 0], [0.0] * 3, [0] * 3, np.zeros((4, 1))
    )
    tree = replace(  # five nodes: 0 has 1 and 2, 1 has 3 and 4
        tree,
        **{
            name: getattr(tree, name)[:5]
            for name in tree.array_types
            if getattr(tree, name) is not None
            and name not in ("left", "right", "feature", "threshold")
        },
        left=[1, 3, -1, -1, -1],
        right=[2, 4, -1, -1, -1],
        feature=[0, 0, -1, -1, -1],
        threshold=[0, 0, np.nan, np.nan, np.nan],
    )
    with pytest.raises(ValueError, match=sentence):
        Tree.from_dict(damage(json.loads(json.dumps(tree.to_dict()))))


def test_a_saved_circle_is_refused():
    tree = Tree.complete([Feature("a")], [0] * 3, [0.0] * 3, [0] * 3, np.zeros((4, 1)))
    stored = tree.to_dict()
    for name, data in {
        "left": [1, -1, -1, 4, 3, -1, -1],
        "right": [2, -1, -1, 5, 6, -1, -1],
        "feature": [0, -1, -1, 0, 0, -1, -1],
        "threshold": [0.0, "nan", "nan", 0.0, 0.0, "nan", "nan"],
    }.items():
        stored = swap(stored, name, {"data": data})
    with pytest.raises(ValueError, match="circle"):
        Tree.from_dict(stored)


def test_a_folder_that_cannot_be_written_keeps_its_model(tmp_path, monkeypatch):
    old = make_tree(np.random.default_rng(0))
    old.save(tmp_path)

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("treelab.trees.io.os.replace", full)
    with pytest.raises(OSError, match="no space"):
        make_tree(np.random.default_rng(1)).save(tmp_path)
    monkeypatch.undo()
    assert same(old, load(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_disk_that_is_full_before_the_last_file_keeps_the_model(
    tmp_path, monkeypatch
):
    old = make_tree(np.random.default_rng(0))
    old.save(tmp_path)
    left = iter([NamedTemporaryFile])

    def temporary_file(**options):
        try:
            return next(left)(**options)
        except StopIteration:
            raise OSError("no space left") from None

    monkeypatch.setattr("treelab.trees.io.NamedTemporaryFile", temporary_file)
    with pytest.raises(OSError, match="no space"):
        make_tree(np.random.default_rng(1)).save(tmp_path)
    assert same(old, load(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_using_a_model_loads_no_library_but_pandas_and_numpy(tmp_path):
    model = make_tree(np.random.default_rng(0))
    model.save(tmp_path / "model.treelab")
    table = make_table(np.random.default_rng(1), 4)
    table.to_pickle(tmp_path / "table.pkl")
    code = (
        "import sys, treelab; import treelab.trees.dot, treelab.trees.text; "
        "treelab.Tree, treelab.WeightedTrees, treelab.PruningPath; import pandas; "
        f"table = pandas.read_pickle({str(tmp_path / 'table.pkl')!r}); "
        f"model = treelab.load({str(tmp_path / 'model.treelab')!r}); "
        "print(model.predict(table).tolist()); "
        "heavy = {'torch', 'sklearn', 'numba', 'plotly', 'streamlit', 'scipy'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(model.predict(table).tolist())


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("value", [[1.2, -0.2]], "from 0 to 1"),
        ("value", [[-5.0, 6.0]], "from 0 to 1"),
        ("value", [[0.0, 0.0]], "with the sum 1"),
        ("value", [["nan", 0.5]], "finite numbers"),
        ("value", [["inf", 0.5]], "finite numbers"),
        ("class_counts", [[-1.0, 3.0]], "class_counts counts rows"),
        ("class_counts", [["nan", 3.0]], "class_counts counts rows"),
        ("n_rows", [-2], "n_rows counts rows"),
        ("missing_rows", [-1], "missing_rows counts rows"),
        ("activity", ["nan"], "activity"),
    ],
)
def test_nodes_that_hold_no_prediction_or_no_count_are_refused(name, values, sentence):
    given = {
        "class_counts": [[1, 1]],
        "missing_rows": [0],
        "activity": [1.0],
        "n_rows": [2],
    }
    tree = Tree.complete([], [], [], [], [[0.5, 0.5]], classes=("a", "b"))
    stored = replace(tree, **given).to_dict()
    Tree.from_dict(stored)
    with pytest.raises(ValueError, match=sentence):
        Tree.from_dict(swap(stored, name, {"data": np.ravel(values).tolist()}))


@pytest.mark.parametrize("value", ["nan", "-inf", 1e308])
def test_leaves_of_numbers_that_cannot_be_squared_are_refused(value):
    stored = Tree.complete([], [], [], [], [[1.0]]).to_dict()
    with pytest.raises(ValueError, match="finite numbers up to 1e"):
        Tree.from_dict(swap(stored, "value", {"data": [value]}))
    ensemble = make_ensemble(np.random.default_rng(0), 2, 1, 0).to_dict()
    data = ensemble["arrays"]["leaf_value"]["data"]
    with pytest.raises(ValueError, match="leaf_value must hold finite numbers"):
        Stored.from_dict(swap(ensemble, "leaf_value", {"data": [value, *data[1:]]}))


@pytest.mark.parametrize("classes", ["", "ab", []])
def test_labels_must_be_a_list(classes):
    stored = Tree.complete([], [], [], [], [[0.5, 0.5]], classes=("a", "b")).to_dict()
    stored["settings"]["classes"] = classes
    with pytest.raises(ValueError, match="classes must be a sequence"):
        Tree.from_dict(stored)


@pytest.mark.parametrize("depth", [300, 600, 900])
@pytest.mark.parametrize("name", ["features", "classes", "target", "notes"])
def test_settings_nested_deeply_are_refused(depth, name):
    stored = make_tree(np.random.default_rng(0)).to_dict()
    deep: dict = {"a": 1}
    for _ in range(depth):
        deep = {"a": deep}
    stored["settings"][name] = deep if name == "target" else [deep]
    try:
        Tree.from_dict(stored)
    except ValueError:
        return
    assert name in ("target", "notes")  # of which any value has a text

"""Broken model files end in a sentence, whatever is wrong with them."""

import copy
import io
import json
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as save_arrays

from tests.trees.make import make_table, make_tree
from tests.trees.test_ensemble import make_ensemble
from treelab.trees.io import MOST_BYTES, Stored, load
from treelab.trees.text import to_rules, to_text
from treelab.trees.tree import Tree

RNG = np.random.default_rng(0)
TREES = [make_tree(RNG, 4), make_tree(RNG, 4, n_classes=0, oblique=0.5, linear=True)]
MODELS = [*TREES, make_ensemble(RNG, 2, 3, 3)]
FILES = [model.to_bytes() for model in MODELS]
STORED = [json.loads(json.dumps(model.to_dict())) for model in MODELS]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, -5, 2, 10**10, 10**30, 1e308, -1e308, "nan", "inf", "", "x"]),
    st.sampled_from(
        [{"$float": "nan"}, {"$float": []}, {"$table": 3}, {"$table": [1]}]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "dtype", "shape", "data", "$float"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value, at=()):
    """Where something stands in a model, first and last items of lists alone."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list) and value:
        for index in {0, len(value) - 1}:
            yield from places(value[index], (*at, index))


PLACES = [list(places(stored)) for stored in STORED]


@st.composite
def broken_models(draw):
    """A stored model with something else in one to three places, or without them."""
    which = draw(st.integers(0, len(STORED) - 1))
    model = copy.deepcopy(STORED[which])
    for place in draw(st.lists(st.sampled_from(PLACES[which]), min_size=1, max_size=3)):
        if not place:
            return draw(values)
        inner = model
        try:
            for key in place[:-1]:
                inner = inner[key]
            if draw(st.booleans()):
                del inner[place[-1]]
            else:
                inner[place[-1]] = draw(values)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    return model


def assert_read_or_refused(read) -> None:
    """What can be read works as a model, and else is refused in a sentence."""
    try:
        model = read()
    except ValueError as error:
        sentence = str(error)
    else:
        assert_works(model)
        return
    assert sentence.endswith("."), sentence
    assert len(sentence) > 20


def assert_works(model) -> None:
    """What was read predicts, unless it asks for other columns, and has a text."""
    with suppress(ValueError, KeyError):
        model.predict(make_table(np.random.default_rng(1), 8))
    if isinstance(model, Tree):
        to_text(model)
        to_rules(model)


@settings(max_examples=250, derandomize=True)
@given(broken_models())
def test_whatever_a_model_holds_it_works_or_is_refused(stored):
    assert_read_or_refused(lambda: Stored.from_dict(stored))


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, len(MODELS) - 1), st.booleans(), st.data())
def test_whatever_bytes_a_saved_model_has_it_works_or_is_refused(which, arrays, data):
    with tempfile.TemporaryDirectory() as folder:
        MODELS[which].save(folder)
        header = Path(folder) / "model.json"
        stored = json.loads(header.read_text("utf-8"))
        del stored["sha256"]  # as a model of whoever makes one
        header.write_text(json.dumps(stored), "utf-8")
        file = Path(folder) / ("model.safetensors" if arrays else "model.json")
        content = bytearray(file.read_bytes())
        start = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(max_size=8))
        content[start : start + data.draw(st.integers(0, 8))] = new
        file.write_bytes(content)
        assert_read_or_refused(lambda: load(folder))


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, len(MODELS) - 1), st.data())
def test_whatever_bytes_one_file_has_it_works_or_is_refused(which, data):
    content = bytearray(FILES[which])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 8))] = data.draw(
            st.binary(max_size=8)
        )
    assert_read_or_refused(lambda: load_bytes(bytes(content)))


@settings(max_examples=60, derandomize=True)
@given(st.binary(max_size=200), st.sampled_from([b"", b"PK", b"PK\x03\x04", b"{"]))
def test_random_bytes_are_refused(content, start):
    with pytest.raises(ValueError, match=r"\.$"):
        load_bytes(start + content)


@settings(max_examples=60, derandomize=True)
@given(broken_models())
def test_whatever_one_file_holds_it_works_or_is_refused(stored):
    arrays = stored.pop("arrays", {}) if isinstance(stored, dict) else {}
    try:
        arrays = {
            name: np.array(a["data"], a["dtype"]).reshape(a["shape"])
            for name, a in arrays.items()
        }
        packed = save_arrays(arrays)
    except Exception:  # no file can hold these
        return
    content = one_file(json.dumps(stored).encode(), packed)
    assert_read_or_refused(lambda: load_bytes(content))


def one_file(header: bytes, arrays: bytes) -> bytes:
    """The content of one file, of whatever."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", header)
        archive.writestr("model.safetensors", arrays)
    return target.getvalue()


def load_bytes(content: bytes):
    """Load a file of this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.treelab"
        path.write_bytes(content)
        return load(path)


def test_a_file_that_unpacks_to_gigabytes_is_refused_unread():
    content = one_file(b" " * (MOST_BYTES + 1), b"")
    assert len(content) < 200_000
    with pytest.raises(ValueError, match="unpacks to more"):
        load_bytes(content)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("threshold", "nan"),
        ("left", 0),
        ("left", 2**31 - 1),
        ("n_rows", -(2**62)),
        ("feature", 99),
        ("value", float("inf")),
    ],
)
def test_numbers_that_make_no_tree_are_refused(name, data):
    tree = TREES[0]
    arrays = {key: np.array(a) for key, a in tree.pack()[1].items()}
    arrays[name].reshape(-1)[0] = float(data)
    header, _ = tree._files()
    with pytest.raises(ValueError, match=r"\.$"):
        load_bytes(one_file(header, save_arrays(arrays)))

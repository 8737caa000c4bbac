"""Broken model files end in a sentence, whatever is wrong with them."""

import copy
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table, make_tree
from tests.trees.test_ensemble import make_ensemble
from treelab.trees.io import load_model, model_from_dict
from treelab.trees.text.rules import to_rules, to_text
from treelab.trees.tree import Tree

RNG = np.random.default_rng(0)
TREES = [
    make_tree(RNG, 4),
    make_tree(RNG, 4, n_classes=0, oblique=0.5, linear=True),
]
MODELS = [*TREES, make_ensemble(RNG, 2, 3, 3)]
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


@settings(max_examples=250, deadline=None, derandomize=True)
@given(broken_models())
def test_whatever_a_model_holds_it_works_or_is_refused(stored):
    assert_read_or_refused(lambda: model_from_dict(stored))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, len(MODELS) - 1), st.booleans(), st.data())
def test_whatever_bytes_a_saved_model_has_it_works_or_is_refused(which, arrays, data):
    with tempfile.TemporaryDirectory() as folder:
        MODELS[which].save(folder)
        file = Path(folder) / ("model.safetensors" if arrays else "model.json")
        content = bytearray(file.read_bytes())
        start = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(max_size=8))
        content[start : start + data.draw(st.integers(0, 8))] = new
        file.write_bytes(content)
        assert_read_or_refused(lambda: load_model(folder))

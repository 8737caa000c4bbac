"""Settings named on the command line are read by their kinds."""

import pytest

from treelab.learners.registry import find_spec
from treelab.learners.setting_text import ascending_floats, parse_settings


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("max_depth=5", {"max_depth": 5}),
        ("learning_rate=0.5", {"learning_rate": 0.5}),
        ("class_weight=balanced", {"class_weight": "balanced"}),
        ("max_depth=", None),
        ("max_depth", None),
        ("max_depth=five", None),
        ("max_depth=5.5", None),
    ],
)
def test_settings_are_read_by_their_kind(text, settings):
    if settings is not None:
        assert parse_settings("gradtree", [text]) == settings
    else:
        with pytest.raises(ValueError, match="max_depth"):
            parse_settings("gradtree", [text])


def test_a_word_may_stand_in_place_of_a_number():
    assert parse_settings("get", ["max_depth=auto"]) == {"max_depth": "auto"}
    assert parse_settings("cart", ["interval=none"]) == {"interval": None}
    with pytest.raises(ValueError, match="depth must be a whole number or None"):
        parse_settings("cart", ["max_depth=auto"])


@pytest.mark.parametrize("text", ["0.1,1,10", "[0.1, 1, 10]"])
def test_a_sequence_of_numbers_is_a_setting(text):
    read = parse_settings("argmin", [f"pruning_strength={text}"])
    assert read == {"pruning_strength": [0.1, 1.0, 10.0]}


def test_parts_of_constraints_are_set_one_by_one_or_together():
    asked = {"monotone": {"age": "up", "debt": "down"}, "max_columns": 3}
    texts = ["constraints.monotone=age: up, debt: down", "constraints.max_columns=3"]
    assert parse_settings("cart", texts) == {"constraints": asked}
    whole = ['constraints={"monotone": {"age": 1, "debt": -1}, "max_columns": 3}']
    assert parse_settings("cart", whole) == {"constraints": asked}
    with pytest.raises(ValueError, match="up or down, got 'left'"):
        parse_settings("cart", ["constraints.monotone=age: left"])
    with pytest.raises(ValueError, match=r"'bad as good: 5, .*got bad: 5"):
        parse_settings("cart", ['constraints={"class_costs": {"bad": 5}}'])
    with pytest.raises(ValueError, match="no constraint 'monoton'"):
        parse_settings("cart", ["constraints.monoton=age: up"])


@pytest.mark.parametrize("text", ["0", "1.5", "0.1, 1", "0.9 0.1", "0.5 0.5"])
def test_a_form_refuses_levels_that_a_fit_would(text):
    settings = {setting.name: setting for setting in find_spec("cart").settings}
    assert ascending_floats(settings["quantile"], "0.1 0.9") == (0.1, 0.9)
    with pytest.raises(ValueError, match="quantile must be"):
        ascending_floats(settings["quantile"], text)


def test_words_of_classes_are_known_where_numbers_have_fewer():
    for word, value in (("auto", "auto"), ("None", None), ("7", 7)):
        assert parse_settings("grande", [f"max_deciders={word}"]) == {
            "max_deciders": value
        }

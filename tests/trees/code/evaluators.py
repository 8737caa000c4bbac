"""ONNX run by onnxruntime, and PMML read by a slow, obvious evaluator of its own."""

import shlex
from operator import ge, gt, le, lt
from xml.etree import ElementTree as xml

import numpy as np
import pandas as pd
import pytest

from treelab.trees.code import to_onnx, to_pmml

onnxruntime = pytest.importorskip("onnxruntime")
_COMPARISONS = {
    "lessOrEqual": le,
    "lessThan": lt,
    "greaterThan": gt,
    "greaterOrEqual": ge,
}
PMML = "{http://www.dmg.org/PMML-4_4}"


def run_onnx(tree, table: pd.DataFrame) -> dict[str, np.ndarray]:
    """What onnxruntime computes of a tree for each row, by the output's name."""
    session = onnxruntime.InferenceSession(
        to_onnx(tree), providers=["CPUExecutionProvider"]
    )
    given = {}
    for each in session.get_inputs():
        column = table[each.name]
        if "string" in each.type:
            values = column.where(column.notna(), "").map(str).to_numpy(dtype=object)
        else:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        given[each.name] = values[:, None]
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given)))


def pmml_predictions(tree, table: pd.DataFrame) -> list:
    """What the document predicts for each row; None where it says nothing."""
    root = xml.fromstring(to_pmml(tree).encode())
    labels = {str(label): label for label in tree.classes or ()}
    model = root.find(f"{PMML}TreeModel")
    if model is None:
        return _averages(root, tree, table)
    found = [_leaf(model, row) for row in table.to_dict("records")]
    found = [None if leaf is None else leaf.get("score") for leaf in found]
    if tree.classes is None:
        return [None if score is None else float(score) for score in found]
    return [labels.get(score) for score in found]


def _averages(root, tree, table: pd.DataFrame) -> list:
    """What the weighted average of all segments is: a value, or the likeliest class."""
    segments = list(root.iter(f"{PMML}Segment"))
    weight = np.array([float(segment.get("weight")) for segment in segments])
    found = []
    for row in table.to_dict("records"):
        leaves = [_leaf(segment.find(f"{PMML}TreeModel"), row) for segment in segments]
        values = [
            [
                float(own.get("probability"))
                for own in leaf.iter(f"{PMML}ScoreDistribution")
            ]
            if tree.classes
            else [float(leaf.get("score"))]
            for leaf in leaves
        ]
        mean = weight @ np.array(values) / weight.sum()
        found.append(tree.classes[mean.argmax()] if tree.classes else mean[0])
    return found


def _leaf(model, row: dict):
    """The node that a row ends in; None for none."""
    values = {str(k): None if v is None or v != v else v for k, v in row.items()}
    for field in model.iter(f"{PMML}DerivedField"):
        values[field.get("name")] = _number(field[0], values)
    node = model.find(f"{PMML}Node")
    while children := node.findall(f"{PMML}Node"):
        holds = [_holds(child[0], values) for child in children]
        assert holds.count(True) <= 1
        if None in holds:  # a value is missing
            default = node.get("defaultChild")
            node = next((c for c in children if c.get("id") == default), None)
        else:
            node = children[holds.index(True)]
        if node is None:
            return None
    return node


def _holds(predicate, values: dict) -> bool | None:
    """Whether a predicate holds; None, unknown, where it compares a missing value."""
    kind = predicate.tag.removeprefix(PMML)
    if kind in ("True", "False"):
        return kind == "True"
    if kind == "CompoundPredicate":
        found = [_holds(each, values) for each in predicate]
        if None in found:
            return None
        return (any if predicate.get("booleanOperator") == "or" else all)(found)
    value = values[predicate.get("field")]
    operator, given = predicate.get("operator"), predicate.get("value")
    if operator in ("isMissing", "isNotMissing"):
        return (value is None) == (operator == "isMissing")
    if value is None:
        return None
    if kind == "SimpleSetPredicate":
        listed = shlex.split(predicate[0].text or "")
        assert len(listed) == int(predicate[0].get("n"))
        return (str(value) in listed) == (predicate.get("booleanOperator") == "isIn")
    if operator in ("equal", "notEqual"):
        return (str(value) == given) == (operator == "equal")
    return _COMPARISONS[operator](float(value), float(given))


def _number(element, values: dict) -> float | None:
    """What an expression computes; None where a value is missing."""
    kind = element.tag.removeprefix(PMML)
    if kind == "Constant":
        return float(element.text)
    if kind == "Apply" and element.get("function") == "if":
        missing, filled, known = element
        assert missing.get("function") == "isMissing"
        return _number(filled if _number(missing[0], values) is None else known, values)
    if kind == "Apply":
        one, other = (_number(each, values) for each in element)
        if one is None or other is None:
            return None
        return one * other if element.get("function") == "*" else one + other
    if kind == "FieldRef":
        value = values[element.get("field")]
        return None if value is None else float(value)
    assert kind == "MapValues"
    fill = element.get("mapMissingTo")
    fill = None if fill is None else float(fill)
    value = values[element.find(f"{PMML}FieldColumnPair").get("field")]
    if value is None:
        return fill
    for row in element.iter(f"{PMML}row"):
        if row.findtext(f"{PMML}category") == str(value):
            return float(row.findtext(f"{PMML}score"))
    default = element.get("defaultValue")
    return None if default is None else float(default)

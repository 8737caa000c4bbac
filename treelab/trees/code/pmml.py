"""A model as PMML 4.4, the XML in which scoring engines exchange models."""

import re
from math import inf, isnan
from xml.etree import ElementTree as xml

from treelab.trees.code.writer import (
    CategoryTest,
    Exported,
    SumTest,
    Term,
    as_written,
    fixed_weights,
    heading,
    inputs,
    refuse_ensemble,
    refuse_several,
    split_test,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

_LARGEST = 1.7976931348623157e308
# XML 1.0 has no way to write these characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_TYPES = {
    "number": {"optype": "continuous", "dataType": "double"},
    "category": {"optype": "categorical", "dataType": "string"},
}


def to_pmml(tree: Exported) -> str:
    """Write a tree as PMML, or an ensemble each of whose trees has one weight.

    Parameters
    ----------
    tree : Tree, WeightedTrees, PruningPath or Forest

    Returns
    -------
    str
        A document with one ``TreeModel``, or with a ``MiningModel`` that holds one for
        each tree and the weighted average of what they predict. Where a value is
        missing the split's ``defaultChild`` is taken. Weighted sums are derived fields,
        and there is no prediction where the tree raises ValueError because nothing
        stands for a missing value of theirs.

    Raises
    ------
    ValueError
        If it is an ensemble that PMML cannot say (see ``fixed_weights``), leaves are
        linear, there are several outputs, a column is read as numbers and as text, or a
        name holds a character that XML cannot hold.
    """
    model = as_written(tree)
    if isinstance(model, WeightedTrees) and fixed_weights(model) is None:
        refuse_ensemble(model, "PMML")
    if isinstance(model, Tree):
        refuse_several(model, "PMML")
        if model.leaf_weights is not None:
            raise ValueError(
                "PMML has no tree with linear leaves. Export Python, SQL, C or ONNX."
            )
        return _TreeModel(model).text()
    return _Ensemble(model).text()


class _Document:
    """What stands around a model: its columns, its target, what it returns."""

    def __init__(self, tree):
        self.tree, self.inputs = tree, inputs(tree)
        names = [source.column for source in self.inputs] + [tree.target]
        for name in {name for name in names if names.count(name) > 1}:
            raise ValueError(
                f"PMML names a column once; {name!r} would stand there twice."
            )
        self.taken = set(names)

    def text(self) -> str:
        """Write the document."""
        root = xml.Element("PMML", xmlns=_NAMESPACE, version="4.4")
        lines = heading(self.tree, self.inputs)
        header = xml.SubElement(root, "Header", description="\n".join(lines))
        xml.SubElement(header, "Application", name="treelab")
        self._dictionary(xml.SubElement(root, "DataDictionary"))
        self.add_to(root)
        xml.indent(root)
        text = xml.tostring(root, encoding="unicode", xml_declaration=False)
        text = text.replace("\r", "&#13;")  # alone it would be read as a new line
        if _FORBIDDEN.search(text):
            raise ValueError(
                "A name or a category holds a character that XML cannot hold. Rename "
                "it in the table."
            )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

    def add_to(self, parent) -> None:
        """Write the model."""
        raise NotImplementedError

    def _dictionary(self, parent) -> None:
        """Write the columns and the target."""
        for source in self.inputs:
            if source.missing_range is not None:
                raise ValueError(
                    f"Numbers of {source.column!r} from {source.missing_range[0]:g} to "
                    f"{source.missing_range[1]:g} count as missing, which treelab does "
                    "not write in PMML. Export Python, SQL, C or ONNX."
                )
            field = _named(parent, "DataField", source.column, source.kind)
            if source.kind == "number":
                xml.SubElement(field, "Value", value="NaN", property="missing")
        kind = "number" if self.tree.classes is None else "category"
        field = _named(parent, "DataField", self.tree.target, kind)
        for label in self.tree.classes or ():
            xml.SubElement(field, "Value", value=str(label))
        parent.set("numberOfFields", str(len(parent)))

    def model(self, parent, tag: str, name: str, **settings: str):
        """Write a model with what it reads and what it returns."""
        tree = self.tree
        kind = "regression" if tree.classes is None else "classification"
        given = {"modelName": name, "functionName": kind, **settings}
        model = xml.SubElement(parent, tag, given)
        schema = xml.SubElement(model, "MiningSchema")
        for source in self.inputs:  # a category that nobody knew is no error
            xml.SubElement(
                schema, "MiningField", name=source.column, invalidValueTreatment="asIs"
            )
        xml.SubElement(schema, "MiningField", name=tree.target, usageType="target")
        if tree.classes is not None:
            output = xml.SubElement(model, "Output")
            for label in tree.classes:
                what = {"feature": "probability", "value": str(label)}
                name = f"probability({label})"
                _named(output, "OutputField", name, "number", **what)
        return model


class _Ensemble(_Document):
    """Segments that all rows pass, and their weighted average."""

    def add_to(self, parent) -> None:
        """Write the ensemble."""
        model = self.model(parent, "MiningModel", "ensemble")
        method = {"multipleModelMethod": "weightedAverage"}
        segments = xml.SubElement(model, "Segmentation", method)
        weights = fixed_weights(self.tree)
        assert weights is not None  # others were refused
        for e, weight in enumerate(weights.tolist()):
            given = {"id": str(e), "weight": repr(weight)}
            segment = xml.SubElement(segments, "Segment", given)
            xml.SubElement(segment, "True")
            _TreeModel(self.tree.estimator(e)).add_to(segment)


class _TreeModel(_Document):
    """The elements of one tree."""

    def __init__(self, tree: Tree):
        super().__init__(tree)
        self.sums: dict[int, str] = {}

    def add_to(self, parent) -> None:
        """Write the tree."""
        model = self.model(
            parent,
            "TreeModel",
            "tree",
            splitCharacteristic="binarySplit",
            missingValueStrategy="defaultChild",
            noTrueChildStrategy="returnNullPrediction",
        )
        self._derived_fields(model)
        top = xml.SubElement(model, "Node")
        xml.SubElement(top, "True")
        self._nodes(top)

    def _derived_fields(self, model) -> None:
        """Write the weighted sum of each oblique split as a field."""
        fields = xml.Element("LocalTransformations")
        for node in range(self.tree.n_nodes):
            if self.tree.is_leaf[node]:
                continue
            test = split_test(self.tree, node)
            if not isinstance(test, SumTest):
                continue
            name = f"sum_{node}"
            while name in self.taken:
                name += "_"
            self.sums[node] = name
            _named(fields, "DerivedField", name, "number").append(_sum(test.terms))
        if len(fields):
            model.append(fields)

    def _nodes(self, top) -> None:
        """Write all nodes below the root, and what each predicts."""
        tree = self.tree
        waiting = [(0, top)]
        while waiting:
            node, element = waiting.pop()
            element.set("id", str(node))
            element.set("recordCount", str(int(tree.n_rows[node])))
            if tree.is_leaf[node]:
                self._prediction(node, element)
                continue
            test = split_test(tree, node)
            if not isinstance(test, SumTest):
                child = tree.left[node] if test.missing_left else tree.right[node]
                element.set("defaultChild", str(int(child)))
            for child, left in ((tree.left[node], True), (tree.right[node], False)):
                below = xml.SubElement(element, "Node")
                self._predicate(node, below, left=left)
                waiting.append((int(child), below))

    def _prediction(self, leaf: int, element) -> None:
        """Write what a leaf predicts."""
        tree = self.tree
        value = tree.value[leaf].tolist()
        if tree.classes is None:
            element.set("score", repr(value[0]))
            return
        element.set("score", str(tree.classes[tree.predicted_class[leaf]]))
        for label, share in zip(tree.classes, value):
            xml.SubElement(
                element,
                "ScoreDistribution",
                value=str(label),
                recordCount=repr(share * float(tree.n_rows[leaf])),
                probability=repr(share),
            )

    def _predicate(self, node: int, parent, *, left: bool) -> None:
        """Write when a row whose value is known takes a side."""
        test = split_test(self.tree, node)
        if isinstance(test, CategoryTest):
            if test.listed:
                _among(parent, test, inside=test.inside == left)
            else:
                known = test.inside != left
                _always(parent, test.source.column, known, test.missing_left == left)
            return
        if isinstance(test, SumTest):
            name, missing = self.sums[node], False  # a sum is known, or fails
        else:
            name, missing = test.source.column, test.missing_left == left
        if test.threshold == inf:
            _always(parent, name, left, missing)
        elif test.threshold == -inf:  # only minus infinity itself goes left
            _simple(parent, name, "lessThan" if left else "greaterOrEqual", -_LARGEST)
        else:
            operator = "lessOrEqual" if left else "greaterThan"
            _simple(parent, name, operator, test.threshold)


def _named(parent, tag: str, name: str, kind: str, **more: str):
    """Write a field of a kind: "number" or "category"."""
    return xml.SubElement(parent, tag, {"name": name, **more, **_TYPES[kind]})


def _constant(value: float):
    """Write a number."""
    constant = xml.Element("Constant", dataType="double")
    constant.text = repr(value)
    return constant


def _simple(parent, name: str, operator: str, value: float | str) -> None:
    """Write one comparison of a column."""
    xml.SubElement(
        parent, "SimplePredicate", field=name, operator=operator, value=str(value)
    )


def _always(parent, name: str, known: bool, missing: bool) -> None:
    """Write that all known values take a side or none, and so for missing ones."""
    if known == missing:
        xml.SubElement(parent, "True" if known else "False")
    else:
        operator = "isNotMissing" if known else "isMissing"
        xml.SubElement(parent, "SimplePredicate", field=name, operator=operator)


def _among(parent, test: CategoryTest, *, inside: bool) -> None:
    """Write that a category is, or is not, among those listed."""
    name = test.source.column
    if any("\\" in each for each in test.listed):  # which no array can hold
        operator, joined = ("equal", "or") if inside else ("notEqual", "and")
        if len(test.listed) > 1:
            parent = xml.SubElement(parent, "CompoundPredicate", booleanOperator=joined)
        for each in test.listed:
            _simple(parent, name, operator, each)
        return
    listed = xml.SubElement(
        parent,
        "SimpleSetPredicate",
        field=name,
        booleanOperator="isIn" if inside else "isNotIn",
    )
    array = xml.SubElement(listed, "Array", type="string", n=str(len(test.listed)))
    texts = (each.replace('"', '\\"') for each in test.listed)
    array.text = " ".join(f'"{text}"' for text in texts)


def _sum(terms: tuple[Term, ...]):
    """Write a weighted sum, its terms added in their order."""
    total = None
    for term in terms:
        product = xml.Element("Apply", function="*")
        product.extend([_constant(term.weight), _value(term)])
        if total is None:
            total = product
        else:
            added = xml.Element("Apply", function="+")
            added.extend([total, product])
            total = added
    return _constant(0.0) if total is None else total


def _filled(name: str, fill: float):
    """Write a column's number, or what stands for it where it is missing.

    ``mapMissingTo`` of a column would be text to some evaluators, and no number.
    """
    choice = xml.Element("Apply", function="if")
    missing = xml.SubElement(choice, "Apply", function="isMissing")
    xml.SubElement(missing, "FieldRef", field=name)
    choice.append(_constant(fill))
    xml.SubElement(choice, "FieldRef", field=name)
    return choice


def _value(term: Term):
    """Write a term's number: a column, or the score of its category."""
    if term.scores is None:
        name = term.source.column
        if term.may_fail:
            return xml.Element("FieldRef", field=name)
        return _filled(name, term.fill)
    fill = {} if isnan(term.fill) else {"mapMissingTo": repr(term.fill)}
    default = {} if isnan(term.unseen) else {"defaultValue": repr(term.unseen)}
    mapped = xml.Element(
        "MapValues", {"outputColumn": "score", "dataType": "double", **fill, **default}
    )
    xml.SubElement(
        mapped, "FieldColumnPair", field=term.source.column, column="category"
    )
    table = xml.SubElement(mapped, "InlineTable")
    for category, score in term.scores.items():
        if not isnan(score):
            row = xml.SubElement(table, "row")
            xml.SubElement(row, "category").text = category
            xml.SubElement(row, "score").text = repr(score)
    return mapped

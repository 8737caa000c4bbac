"""An ensemble as functions in C99; NaN and NULL are missing values."""

import numpy as np

from treelab.trees.code.c_parts import HELPERS, c_text, member, number, struct_lines
from treelab.trees.code.ensembles.heading import FAR_BELOW, ensemble_heading
from treelab.trees.code.names import identifiers
from treelab.trees.code.splits import inputs, source_of
from treelab.trees.ensemble import WeightedTrees

_LINE = 8  # numbers on a line


def ensemble_to_c(model: WeightedTrees) -> str:
    """Write an ensemble as ``to_c`` writes a tree."""
    used = np.unique(model.feature).tolist()
    read = inputs(model)
    names = dict(zip(read, identifiers(source.column for source in read)))
    heading = ["/*", *(f" * {line}" for line in ensemble_heading(model)), " */"]
    parts = [
        heading,
        ["#include <math.h>", "#include <stddef.h>", "#include <string.h>"],
        struct_lines(names),
        _tables(model, used),
        *_features(model, used, names),
        [_LEAF],
        [_WEIGHTS[model.weighting]],
        *_mean(model),
    ]
    if model.classes is None:
        parts.append([_PREDICT])
    elif model.leaf_output == "probabilities":
        parts.append([_PROBABILITIES, "", _CLASS])
    else:
        single = model.leaf_value.shape[2] == 1
        parts.append([_ONE_LOGIT if single else _LOGITS, _SOFTMAX, "", _CLASS])
    return "\n\n".join("\n".join(lines).strip("\n") for lines in parts) + "\n"


def _tables(model: WeightedTrees, used: list[int]) -> list[str]:
    """Write the trees as arrays, splits breadth first and leaves left to right."""
    place = np.searchsorted(used, model.feature)
    sizes = {
        "N_TREES": model.n_estimators,
        "N_SPLITS": model.n_leaves - 1,
        "N_LEAVES": model.n_leaves,
        "N_VALUES": model.leaf_value.shape[2],
        "N_FEATURES": max(len(used), 1),
    }
    lines = [f"#define TREE_{name} {size}" for name, size in sizes.items()]
    if model.classes is not None:
        lines += [f"#define TREE_N_CLASSES {len(model.classes)}", ""]
        lines.append("const char *const tree_classes[TREE_N_CLASSES] = {")
        lines += [f"    {c_text(str(label))}," for label in model.classes]
        lines.append("};")
        weights = np.ones(len(model.classes))
        if model.class_weights is not None:
            weights = model.class_weights
        lines += ["", "static const double class_weight[TREE_N_CLASSES] = {"]
        lines += [f"    {number(weight)}," for weight in weights.tolist()]
        lines.append("};")
    for kind, name, array in (
        ("int", "split_feature", place),
        ("double", "split_threshold", model.threshold),
        ("char", "split_missing_left", model.missing_left.astype(int)),
        ("double", "leaf_weight", model.leaf_weight),
        ("double", "leaf_value", model.leaf_value),
    ):
        cells = [
            number(cell) if kind == "double" else str(cell)
            for cell in array.ravel().tolist()
        ] or ["0"]
        lines += ["", f"static const {kind} {name}[{len(cells)}] = {{"]
        for first in range(0, len(cells), _LINE):
            lines.append(f"    {', '.join(cells[first : first + _LINE])},")
        lines.append("};")
    return lines


def _features(model: WeightedTrees, used: list[int], names) -> list[list[str]]:
    """Write the function that reads a row, and those of its categories' numbers."""
    functions: list[list[str]] = []
    lines = ["static void read_row(const struct tree_row *row, double *x)", "{"]
    if not used:
        lines += ["    (void)row;", "    x[0] = 0;"]
    for i, j in enumerate(used):
        feature = model.features[j]
        source = source_of(feature)
        value = member(source, names[source])
        if feature.kind != "number":
            score = [f"static double score_{j}(const char *category)", "{"]
            score.append("    if (category == NULL) return NAN;")
            for category, its in zip(feature.categories, map(float, feature.scores)):
                held = f"same(category, {c_text(category)})"
                score.append(f"    if ({held}) return {number(its)};")
            functions.append([*score, f"    return {number(feature.unseen)};", "}"])
            value = f"score_{j}({value})"
        lines.append(f"    x[{i}] = {value};")
    used_helpers = ["same"] * bool(functions) + ["unless"] * ("unless(" in str(lines))
    helpers = [[HELPERS[name]] for name in used_helpers]
    return [*helpers, *functions, [*lines, "}"]]


def _mean(model: WeightedTrees) -> list[list[str]]:
    """Write the mean of the trees' values, and what limits who decides it."""
    if model.n_deciding == model.n_estimators:
        return [[_MEAN]]
    sizes = {"MOST_DECIDERS": model.n_deciding, "NO_WEIGHT": FAR_BELOW}
    lines = [f"#define TREE_{name} {size}" for name, size in sizes.items()]
    limited = _MEAN.replace("weigh(weight);", "limit(weight);\n    weigh(weight);")
    return [[*lines, _LIMIT], [limited]]


_LEAF = """
static int find_leaf(const double *x, int tree)
{
    int node = 0;
    while (node < TREE_N_SPLITS) {
        int split = tree * TREE_N_SPLITS + node;
        double value = x[split_feature[split]];
        int left = isnan(value) ? split_missing_left[split]
                                : value <= split_threshold[split];
        node = 2 * node + (left ? 1 : 2);
    }
    return tree * TREE_N_LEAVES + node - TREE_N_SPLITS;
}
"""
_WEIGHTS = {
    "softmax": """
/* Scores become weights: a softmax up to a factor. */
static void weigh(double *score)
{
    double top = score[0];
    for (int i = 1; i < TREE_N_TREES; i++) if (score[i] > top) top = score[i];
    for (int i = 0; i < TREE_N_TREES; i++) score[i] = exp(score[i] - top);
}
""",
    "entmax15": """
/* Scores become weights: a 1.5-entmax, (score / 2 - tau) squared or 0, by Newton's
   steps to the tau at which they sum to 1. */
static void weigh(double *score)
{
    double tau = score[0] / 2;
    for (int i = 1; i < TREE_N_TREES; i++) if (score[i] / 2 > tau) tau = score[i] / 2;
    tau -= 1;
    for (int step = 0; step < 60; step++) {
        double sum = 0, squares = 0, move;
        for (int i = 0; i < TREE_N_TREES; i++) {
            double root = score[i] / 2 - tau;
            if (root > 0) { sum += root; squares += root * root; }
        }
        move = (squares - 1) / (2 * sum);
        if (!(move > 1e-14)) break;
        tau += move;
    }
    for (int i = 0; i < TREE_N_TREES; i++) {
        double root = score[i] / 2 - tau;
        score[i] = root > 0 ? root * root : 0;
    }
}
""",
}
_MEAN = """
static void mean_values(const struct tree_row *row, double *mean)
{
    double x[TREE_N_FEATURES], weight[TREE_N_TREES], total = 0;
    int leaf[TREE_N_TREES];
    read_row(row, x);
    for (int i = 0; i < TREE_N_TREES; i++) {
        leaf[i] = find_leaf(x, i);
        weight[i] = leaf_weight[leaf[i]];
    }
    weigh(weight);
    for (int k = 0; k < TREE_N_VALUES; k++) mean[k] = 0;
    for (int i = 0; i < TREE_N_TREES; i++) {
        total += weight[i];
        for (int k = 0; k < TREE_N_VALUES; k++)
            mean[k] += weight[i] * leaf_value[leaf[i] * TREE_N_VALUES + k];
    }
    for (int k = 0; k < TREE_N_VALUES; k++) mean[k] /= total;
}
"""
_LIMIT = """
/* All but the highest scores become so low that they weigh nothing. */
static void limit(double *score)
{
    double highest[TREE_MOST_DECIDERS]; /* in falling order */
    int found = 0;
    for (int i = 0; i < TREE_N_TREES; i++) {
        int place = found;
        if (found == TREE_MOST_DECIDERS) {
            if (score[i] <= highest[found - 1]) continue;
            place = found - 1;
        } else {
            found++;
        }
        while (place > 0 && highest[place - 1] < score[i]) {
            highest[place] = highest[place - 1];
            place--;
        }
        highest[place] = score[i];
    }
    for (int i = 0; i < TREE_N_TREES; i++)
        if (score[i] < highest[found - 1]) score[i] = TREE_NO_WEIGHT;
}
"""
_PREDICT = """
double tree_predict(const struct tree_row *row)
{
    double mean[TREE_N_VALUES];
    mean_values(row, mean);
    return mean[0];
}
"""
_PROBABILITIES = """
void tree_probabilities(const struct tree_row *row, double *probability)
{
    mean_values(row, probability);
}
"""
_LOGITS = """
void tree_probabilities(const struct tree_row *row, double *probability)
{
    double top, sum = 0;
    mean_values(row, probability);
"""
_ONE_LOGIT = """
void tree_probabilities(const struct tree_row *row, double *probability)
{
    double top, sum = 0;
    mean_values(row, probability + 1);
    probability[0] = 0; /* the one logit is that of the second class */
"""
_SOFTMAX = """    top = probability[0];
    for (int i = 1; i < TREE_N_CLASSES; i++)
        if (probability[i] > top) top = probability[i];
    for (int i = 0; i < TREE_N_CLASSES; i++)
        sum += probability[i] = exp(probability[i] - top);
    for (int i = 0; i < TREE_N_CLASSES; i++) probability[i] /= sum;
}
"""
_CLASS = """
int tree_class(const struct tree_row *row)
{
    double probability[TREE_N_CLASSES];
    int best = 0;
    tree_probabilities(row, probability);
    for (int i = 1; i < TREE_N_CLASSES; i++)
        if (probability[i] * class_weight[i] > probability[best] * class_weight[best])
            best = i;
    return best;
}
"""

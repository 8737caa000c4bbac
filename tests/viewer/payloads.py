"""Payloads to look at the viewer with: made-up trees of any size and kind."""

import numpy as np

COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
NAMES = ("petal width", "petal length", "sepal width", "sepal length", "age", "bmi")
AWKWARD = (
    '<img src=x onerror="window.broken = 1">',
    "a & b &amp; 'quoted' \"twice\"",
    "عرض البتلة بالسنتيمتر",
    "family 👨‍👩‍👧‍👦 size 🌱",
    "a very long name of a column that nobody would ever want to read in full, but has",
    "</script><b>bold</b>",
)


def tree_nodes(
    depth: int,
    *,
    n_classes: int = 2,
    seed: int = 0,
    names: tuple[str, ...] = NAMES,
    unit: str = "cm",
    share_of_splits: float = 1.0,
    oblique: bool = False,
    categories: bool = False,
    missing: bool = False,
    rows: int = 20000,
) -> list[dict]:
    """Nodes of a tree of one depth, parents first, as the payload wants them."""
    rng = np.random.default_rng(seed)
    labels = class_labels(n_classes)
    nodes: list[dict] = []
    queue = [
        (
            "",
            -1,
            rng.multinomial(rows, np.full(max(1, n_classes), 1 / max(1, n_classes))),
            5.0,
        )
    ]
    while queue:
        key, parent, counts, mean = queue.pop(0)
        n = int(counts.sum())
        splits = len(key) < depth and n >= 4
        if splits and len(key) > 1:
            splits = rng.random() < share_of_splits
        column = int(rng.integers(len(names)))
        node = {
            "key": key,
            "id": len(nodes),
            "parent": parent,
            "condition": None,
            "column": None,
            "threshold": None,
            "hist": None,
            "target_hist": None,
            "missing": None,
            "rows": n,
            "share": n / rows,
            "shares": [],
            "mean": None,
            "std": None,
            "prediction": None,
            "confidence": None,
            "impurity": 0.12,
            "gain": 0.03,
            "activity": None,
            "formula": None,
        }
        if n_classes:
            shares = counts / max(1, n)
            node["shares"] = [round(float(share), 6) for share in shares]
            node["class"] = int(shares.argmax())
            node["prediction"] = labels[node["class"]]
            node["confidence"] = round(float(shares.max()), 6)
        else:
            node["mean"] = round(mean, 4)
            node["std"] = round(2.4 * 0.75 ** len(key), 4)
            node["prediction"] = f"{mean:.3g} {unit}"
            heights = rng.integers(1, 20, 12).tolist()
            edges = np.linspace(mean - 2, mean + 2, 13).round(3).tolist()
            node["target_hist"] = {"edges": edges, "counts": [[h] for h in heights]}
        nodes.append(node)
        if not splits:
            continue
        threshold = round(float(rng.normal(3, 1)), 2)
        low, high = threshold - 3, threshold + rng.uniform(1, 4)
        bins = np.linspace(low, high, 21).round(4).tolist()
        parts = counts if n_classes else np.array([n])
        heights = np.stack(
            [rng.multinomial(c, rng.dirichlet(np.full(20, 1.5))) for c in parts], 1
        )
        node["threshold"] = threshold
        node["hist"] = {"edges": bins, "counts": heights.tolist()}
        if oblique:
            weights = rng.normal(0, 1, 6).round(2)
            share = np.abs(weights) / np.abs(weights).sum()
            order = np.argsort(-share)
            node["weights"] = [
                [names[i], float(w), round(float(share[i]), 4), f"{abs(w):g}"]
                for i, w in zip(order, weights[order])
            ]
            terms = " + ".join(f"{weights[i]:.2g}·{names[i]}" for i in order[:3])
            node["bound"] = f"{threshold:g}"
            node["condition"] = f"{terms} + … ≤ {threshold:g}".replace("+ -", "− ")
        elif categories and rng.random() < 0.6:
            known = ["Sales", "Tech", "Craft", "Farm", "Care", "Law", "Clerk"]
            chosen = sorted(rng.choice(known, 3, replace=False).tolist())
            node["column"] = column
            node["threshold"] = None
            node["left_categories"] = chosen
            node["condition"] = f"{names[column]} in {{{', '.join(chosen)}}}"
            node["hist"] = {
                "categories": known,
                "counts": heights[: len(known)].tolist(),
            }
        else:
            node["column"] = column
            node["condition"] = f"{names[column]} ≤ {threshold:g} {unit}".strip()
        if missing and rng.random() < 0.7:
            node["missing"] = "left" if rng.random() < 0.5 else "right"
        tilt = rng.beta(0.5, 0.5, len(counts))
        left = np.array([rng.binomial(c, t) for c, t in zip(counts, tilt)])
        index = len(nodes) - 1
        step = 2.4 * 0.7 ** len(key) * float(rng.uniform(0.4, 1))
        queue.append((key + "0", index, left, mean - step))
        queue.append((key + "1", index, counts - left, mean + step))
    # Nulls are left out, as by ``treelab.figures.viewer.payload``.
    return [{k: v for k, v in node.items() if v is not None} for node in nodes]


def class_labels(n_classes: int) -> list[str]:
    """Labels of so many classes."""
    if n_classes == 2:
        return ["malignant", "benign"]
    return [f"class {chr(65 + i)}" for i in range(n_classes)]


def payload(nodes: list[dict], *, n_classes: int = 2, names=NAMES, **changes) -> dict:
    """A whole payload around one list of nodes."""
    labels = class_labels(n_classes)
    data = {
        "version": 1,
        "title": "GradTree · made-up table",
        "task": {0: "regression", 2: "binary"}.get(n_classes, "multiclass"),
        "target": {"name": "diagnosis" if n_classes else "height", "unit": "cm"},
        "classes": [
            {"label": label, "color": COLORS[i]} for i, label in enumerate(labels)
        ],
        "scale": None if n_classes else {"low": 0.5, "high": 9.5},
        "rows": {"split": "train", "label": "training rows", "total": nodes[0]["rows"]},
        "axis": {
            str(i): {"name": name, "unit": "cm", "kind": "number"}
            for i, name in enumerate(names)
        },
        "frames": {"kind": None},
        "trees": [{"nodes": nodes, "notes": []}],
        "paths": [],
        "flow": None,
        "options": {
            "direction": "down",
            "depth": None,
            "height": 620,
            "controls": True,
            "leaves_apart": True,
        },
    }
    options = {**data["options"], **changes.pop("options", {})}
    return {**data, **changes, "options": options}


def run_of(n_frames: int, depth: int = 4) -> dict:
    """A payload of a run: later frames are deeper and change a few splits."""
    last = tree_nodes(depth, seed=3)
    trees = []
    for i in range(n_frames):
        levels = min(depth, 1 + (i * depth) // max(1, n_frames - 1))
        kept = [dict(node) for node in last if len(node["key"]) <= levels]
        for node in kept:
            if len(node["key"]) == levels:
                node.pop("condition", None)
        if i % 3 == 1 and len(kept) > 2 and kept[0].get("condition"):
            kept[0]["condition"] = f"{NAMES[0]} ≤ {i / 10:g} cm"
        trees.append({"nodes": kept, "notes": []})
    frames = {
        "kind": "epoch",
        "name": "epoch",
        "values": list(range(n_frames)),
        "labels": [f"epoch {i}" for i in range(n_frames)],
        "scores": [round(0.5 + 0.4 * i / n_frames, 4) for i in range(n_frames)],
        "score_label": "macro F1 · validation",
        "chosen": n_frames - 2,
    }
    return payload(last, frames=frames, trees=trees)

/** Colours of classes and means; the payload names them, shades are made here. */

import { targetText, withUnit } from "./text.js";

// Nine steps of viridis (matplotlib), dark to light.
const VIRIDIS = [
  [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141],
  [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37],
];

/** Viridis at `t` in [0, 1], as "rgb(...)". */
export function viridis(t) {
  const place = Math.min(1, Math.max(0, t)) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(place));
  const part = place - low;
  const mixed = VIRIDIS[low].map((c, i) => Math.round(c + part * (VIRIDIS[low + 1][i] - c)));
  return `rgb(${mixed.join(",")})`;
}

/**
 * Rows at a node of the class by which the picture is coloured, or what they weigh, and their
 * share of all rows of it; null where it is coloured by prediction.
 */
export function flowOf(data, node) {
  const k = data.flow ? data.classes.findIndex(({ label }) => label === data.flow.class) : -1;
  if (k < 0) return null;
  const weighted = node.weight !== undefined;
  const at = ({ shares, rows, weight }) => {
    const share = shares?.[k] ?? 0;
    return weighted ? share * weight : Math.round(share * rows);
  };
  const all = at(data.trees[0].nodes[0]);
  return { rows: at(node), share: all ? at(node) / all : 0, weighted, ...data.classes[k] };
}

/** Colour of a node: of the class it predicts, or of its mean on the scale. */
export function nodeColor(data, node) {
  if (data.task === "regression") return meanColor(data, node.mean);
  return data.classes[node.class]?.color ?? "#808080";
}

/** Both ends of the scale in words; what lies beyond has the colour of its end. */
export function scaleEnds({ scale, target }) {
  const { low, high, below, above } = scale ?? {};
  return [`${below ? "≤ " : ""}${targetText(low, target)}`, `${above ? "≥ " : ""}${withUnit(targetText(high, target), target?.unit)}`];
}

/** What the scale is of. */
export function scaleName(data) {
  return data.outputs?.[data.main]?.name ?? `${data.target?.value ?? "mean"} ${data.target?.name ?? ""}`;
}

/** Colour of a mean between the ends of the scale. */
export function meanColor(data, mean) {
  const { low, high } = data.scale ?? { low: 0, high: 0 };
  if (mean === null || mean === undefined) return "#808080";
  return viridis(high > low ? (mean - low) / (high - low) : 0.5);
}

/** How pure a node is, 0 (as mixed as can be) to 1 (one class; no spread). */
export function purity(data, node, root) {
  if (data.task === "regression") {
    if (!root?.std || node.std === null || node.std === undefined) return 0.5;
    return Math.min(1, Math.max(0, 1 - node.std / root.std));
  }
  const n = Math.max(2, data.classes.length);
  // The share of all others together says nothing of the one among them.
  const share = (data.classes[node.class]?.other ? node.confidence : node.shares[node.class]) ?? 0;
  return Math.min(1, Math.max(0, (share - 1 / n) / (1 - 1 / n)));
}

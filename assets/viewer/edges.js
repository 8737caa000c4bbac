/** Edges: as thick as their share, dashed where little passes, with a word on each. */

import { flowOf } from "./color.js";
import { svg } from "./svg.js";
import { measure } from "./text.js";

const THICKEST = 13;
const THINNEST = 1.5;
/** Below this bound on what can pass, an edge is drawn dashed. */
export const LOW_ACTIVITY = 0.1;

/** Thickness of the edge above a node, by its rows or by those of the class it is coloured by. */
export function edgeWidth(data, node) {
  const flow = flowOf(data, node);
  if (flow) return flow.rows ? Math.max(THINNEST, THICKEST * flow.share) : 1;
  return Math.max(THINNEST, THICKEST * (node.share ?? 0));
}

/** Where an edge leaves its parent and meets its child: boxes {x, y, w, h}. */
export function edgeEnds(parent, child, direction) {
  if (direction === "right") {
    return [parent.x + parent.w, parent.y + parent.h / 2, child.x, child.y + child.h / 2];
  }
  return [parent.x + parent.w / 2, parent.y + parent.h, child.x + child.w / 2, child.y];
}

/** A smooth edge; straight where nodes are too small to see a curve. */
export function edgePath([x1, y1, x2, y2], direction, straight, fine = 10) {
  const n = (value) => Math.round(value * fine) / fine;
  if (straight) return `M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}`;
  if (direction === "right") {
    const middle = n((x1 + x2) / 2);
    return `M${n(x1)} ${n(y1)}C${middle} ${n(y1)} ${middle} ${n(y2)} ${n(x2)} ${n(y2)}`;
  }
  const middle = n((y1 + y2) / 2);
  return `M${n(x1)} ${n(y1)}C${n(x1)} ${middle} ${n(x2)} ${middle} ${n(x2)} ${n(y2)}`;
}

/** "yes" where the condition holds, "no" elsewhere, and where missing values go. */
export function edgeWord(parent, left) {
  const word = left ? "yes" : "no";
  return parent.missing === (left ? "left" : "right") ? `${word}, missing` : word;
}

/** How wide the plate of a word is. */
export function plateWidth(word, small) {
  return measure(word, small ? 10 : 11, 600) + 10;
}

/** The word of an edge as a small plate; `place` puts it on the curve. */
export function edgePlate(word, small) {
  const size = small ? 10 : 11;
  const w = plateWidth(word, small);
  const h = size + 5;
  const group = svg("g", { class: "plate" },
    svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: h / 2 }),
    svg("text", { y: size * 0.35, "font-size": size, "font-weight": 600, "text-anchor": "middle", text: word }));
  if (word.includes("missing")) group.append(svg("title", { text: "Missing values go this way." }));
  return { group, w, h };
}

/** Part of an edge from left to right that its plate may take without touching a card. */
export const PLATE_ROOM = 0.86;

/** Middle of an edge, a little nearer the child, where the two words do not meet. */
export function platePlace([x1, y1, x2, y2], direction) {
  const t = 0.56;
  const s = 1 - t;
  const bend = (a, b) => s * s * s * a + 3 * s * s * t * a + 3 * s * t * t * b + t * t * t * b;
  const line = (a, b) => {
    const m = (a + b) / 2;
    return s * s * s * a + 3 * s * s * t * m + 3 * s * t * t * m + t * t * t * b;
  };
  return direction === "right" ? [line(x1, x2), bend(y1, y2)] : [bend(x1, x2), line(y1, y2)];
}

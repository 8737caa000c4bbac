/** The key to the picture: classes or scale, sides, followed rows, dashes. */

import { scaleEnds, scaleName, viridis } from "./color.js";
import { LOW_ACTIVITY } from "./edges.js";
import { html } from "./svg.js";
import { classText } from "./text.js";

const CHANGED = {
  epoch: "dashed outline: changed since the epoch before",
  lambda: "dashed outline: differs at the strength before",
  leaves: "dashed outline: differs at the size before",
  alpha: "dashed outline: differs at the size before",
};

/** Fill the legend for what is drawn; `bars`: whether sums are, `apart`: every leaf by itself. */
export function fillLegend(box, data, { nodes, alike }, direction, { bars, apart }) {
  const parts = [];
  if (data.task === "regression") parts.push(scale(data));
  else for (const { label, color } of data.classes) parts.push(entry(swatch(color), classText(data, label)));
  const paths = (data.paths ?? []).map(({ label, color }, p) => entry(stroke(color, p), label));
  parts.push(...paths);
  if (data.flow) parts.push(entry(null, `colour and edges: share of the ${nodes[0].weight === undefined ? "rows" : "weight"} of ${data.flow.class}`, "whole"));
  if (!data.options?.compact) {
    const side = direction === "right" ? "up" : "left";
    parts.push(entry(null, `yes goes ${side}, no goes ${direction === "right" ? "down" : "right"}`, "aside"));
    const shaded = data.task !== "regression" || nodes.some((node) => node.std !== undefined);
    if (!data.flow && shaded) parts.push(entry(null, data.task === "regression" ? "deeper shade: lower standard deviation" : "deeper shade: purer", "aside"));
    if (!apart && alike.some(Boolean)) {
      parts.push(entry(mark("twice"), "leaves of one class, drawn as one", "aside"));
    }
    if (nodes.some((node) => node.missing)) {
      parts.push(entry(null, "missing or ?: branch of rows with a missing value", "aside"));
    }
    if (bars) {
      parts.push(entry(null, "bars beside a sum: share of its spread, grey where subtracted", "aside"));
    }
    if (nodes.some((node) => (node.activity ?? 1) < LOW_ACTIVITY)) {
      parts.push(entry(null, "dashed edge: low node activity", "aside"));
    }
    if (data.marked?.length) parts.push(entry(mark("changed"), "split that the other tree does not have", "aside"));
    if (data.frames?.kind && data.trees.length > 1) {
      parts.push(entry(mark("changed"), CHANGED[data.frames.kind] ?? "changed split", "aside"));
    }
  }
  box.replaceChildren(...parts);
}

function entry(mark, label, form) {
  return html("span", { class: `entry${form ? ` ${form}` : ""}` }, mark, html("bdi", { text: label, title: label }));
}

function mark(form) {
  return html("i", { class: form });
}

function swatch(color) {
  const square = mark("swatch");
  square.style.background = color;
  return square;
}

function stroke(color, p) {
  const line = mark(`stroke ${p === 0 ? "one" : "two"}`);
  line.style.borderTopColor = color;
  return line;
}

function scale(data) {
  const bar = mark("scale");
  const steps = Array.from({ length: 9 }, (_, i) => viridis(i / 8));
  bar.style.background = `linear-gradient(90deg, ${steps.join(",")})`;
  const [low, high] = scaleEnds(data);
  return html("span", { class: "entry" }, html("bdi", { text: scaleName(data) }), html("span", { text: low }), bar, html("span", { text: high }));
}

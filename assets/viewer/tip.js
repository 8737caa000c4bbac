/** The details of a node, beside it, under the pointer or on keyboard focus. */

import { splitHistogram, plainHistogram } from "./charts.js";
import { predictionText } from "./card.js";
import { isSum, sumPlan } from "./sum.js";
import { html, svg } from "./svg.js";
import { count, isMean, percent, rowsText, short, spreadText, targetText, weightText } from "./text.js";

const TIP_WIDTH = 300;
const TIP_LINES = 10; // lines of a list

/** A floating note; `show` fills and places it, `hide` takes it away. */
export class Tip {
  constructor(root) {
    this.root = root;
    this.box = html("div", { class: "tip", role: "tooltip", hidden: true });
    root.append(this.box);
    this.timer = 0;
  }

  /** Show a node's details soon, beside its box on screen. */
  later(data, node, status, place, wait = 350) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(data, node, status, place()), this.box.hidden ? wait : 60);
  }

  show(data, node, status, place) {
    if (!place) return;
    this.box.replaceChildren(...tipParts(data, node, status));
    this.box.hidden = false;
    const around = this.root.getBoundingClientRect();
    const { width, height } = this.box.getBoundingClientRect();
    const space = 12;
    let x = place.right - around.left + space;
    if (x + width > around.width - 4) x = place.left - around.left - width - space;
    let y = place.top - around.top;
    if (x < 4) {
      x = Math.min(Math.max(4, place.left - around.left), Math.max(4, around.width - width - 4));
      y = place.bottom - around.top + space;
      if (y + height > around.height) y = place.top - around.top - height - space;
    }
    y = Math.min(Math.max(4, y), Math.max(4, around.height - height - 4));
    this.box.style.left = `${Math.round(x)}px`;
    this.box.style.top = `${Math.round(y)}px`;
  }

  hide() {
    clearTimeout(this.timer);
    this.box.hidden = true;
  }

  destroy() {
    this.hide();
    this.box.remove();
  }
}

function tipParts(data, node, status) {
  const parts = [];
  if (status === "ghost") {
    return [html("p", { text: "This branch is hidden by the filter." }), facts([rowsFact(data, node)])];
  }
  if (isSum(node)) parts.push(sum(node));
  else if (node.condition) parts.push(html("p", { class: "condition" }, html("bdi", { text: `${node.condition} ?` })));
  if (node.condition && node.missing) {
    parts.push(html("p", { class: "aside", text: missingText(node) }));
  }
  if (node.hist) parts.push(chart(82, splitHistogram(data, node, 0, 5, TIP_WIDTH - 24, 56, true)));
  if (node.left_categories?.length) parts.push(categories(node));
  const rows = [rowsFact(data, node)];
  if (!node.condition && !node.outputs) rows.unshift(["prediction", predictionText(data, node)]);
  if (node.formula) rows.push(["formula", node.formula]);
  if (node.outputs) node.outputs.forEach(([, words], k) => rows.push([data.outputs[k].name, words]));
  else if (data.task === "regression") rows.push([data.target?.value ?? "mean", `${targetText(node.mean, data.target)}${isMean(data) ? "" : ","} ${spreadText(data, node)}`]);
  if (node.interval && !node.condition) {
    const [share, low, high] = node.interval;
    rows.push([`${share} of rows`, low === high ? short(low) : `${short(low)} to ${short(high)}`]);
  }
  if (node.confidence !== null && node.confidence !== undefined && !node.condition) rows.push(["confidence", percent(node.confidence)]);
  if (node.likeliest && !node.condition) rows.push(["most probable", `${node.likeliest[0]} ${percent(node.likeliest[1])}`]);
  if (node.impurity !== null && node.impurity !== undefined) rows.push(["impurity", short(node.impurity)]);
  if (node.gain !== null && node.gain !== undefined) rows.push(["gain", short(node.gain)]);
  if (node.activity !== null && node.activity !== undefined) rows.push(["activity", short(node.activity)]);
  if (!node.condition && node.target_hist) parts.push(chart(58, plainHistogram(data, node.target_hist, 0, 4, TIP_WIDTH - 24, 36, true)));
  if (node.shares?.length) parts.push(classes(data, node));
  parts.push(facts(rows));
  return parts;
}

function missingText(node) {
  const side = node.missing === "left" ? "yes" : "no";
  return `Missing values go to “${side}”${node.missing_rows ? `: ${rowsText(node.missing_rows)} here` : ""}.`;
}

function rowsFact(data, node) {
  return [data.rows?.label ?? "rows", `${count(node.rows)} · ${percent(node.share)}${weightText(node)}`];
}

/** All terms that are known here, not only those on the card. */
function sum(node) {
  const { blocks } = sumPlan(node, "full", Infinity);
  const group = svg("g", {});
  let y = 1;
  for (const { h, draw } of blocks) {
    group.append(draw(0, y, TIP_WIDTH - 24));
    y += h;
  }
  return chart(y + 2, group);
}

function chart(height, drawing) {
  return svg("svg", { width: TIP_WIDTH - 24, height, "aria-hidden": "true" }, drawing);
}

function categories(node) {
  const shown = node.left_categories.slice(0, TIP_LINES);
  const rest = /^(\d+) more$/.exec(node.left_categories[node.left_categories.length - 1]);
  const more = node.left_categories.length - shown.length + (rest ? Number(rest[1]) - 1 : 0);
  const line = html("p", { class: "aside" }, html("b", { text: "yes: " }));
  shown.forEach((name, i) => line.append(html("bdi", { text: name }), i < shown.length - 1 ? ", " : ""));
  if (node.left_categories.length > shown.length) line.append(` and ${count(more)} more`);
  return line;
}

function classes(data, node) {
  const order = node.shares.map((share, i) => [share, i]).sort((a, b) => b[0] - a[0]);
  const list = html("div", { class: "classes" });
  for (const [share, i] of order) {
    const swatch = html("i", {});
    swatch.style.background = data.classes[i].color;
    list.append(html("span", {}, swatch, html("bdi", { text: data.classes[i].label })), html("b", { text: percent(share) }));
  }
  return list;
}

function facts(rows) {
  const list = html("dl", {});
  for (const [name, value] of rows) list.append(html("dt", { text: name }), html("dd", { text: value }));
  return list;
}

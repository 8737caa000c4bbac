/** The small charts inside a node: stacked bar, histogram, spread, weights. */

import { svg } from "./svg.js";
import { meanColor } from "./color.js";
import { cut, isMean, isolate, measure, ofColumn, short } from "./text.js";

/** Shares of the classes as one bar `w` wide; a sliver stays visible. */
export function classBar(data, node, x, y, w, h) {
  const group = svg("g", {});
  let start = x;
  node.shares.forEach((share, i) => {
    if (!share) return;
    const width = share * w;
    group.append(svg("rect", {
      x: start, y, width: Math.max(0.8, width - (width > 4 ? 0.7 : 0)), height: h,
      fill: data.classes[i].color,
    }));
    start += width;
  });
  return group;
}

/** A value on the scale of the whole tree; a mean has a standard deviation to both sides. */
export function meanBar(data, node, x, y, w, h) {
  const { low, high } = data.scale ?? { low: 0, high: 0 };
  const place = (value) => {
    const t = high > low ? (value - low) / (high - low) : 0.5;
    return x + Math.min(1, Math.max(0, t)) * w;
  };
  const std = isMean(data) ? node.std ?? 0 : 0;
  const from = place(node.mean - std);
  return svg("g", {},
    svg("rect", { x, y: y + h / 2 - 1, width: w, height: 2, rx: 1, class: "rail" }),
    svg("rect", {
      x: from, y: y + 1.5, width: Math.max(1, place(node.mean + std) - from), height: h - 3,
      rx: 2, class: "spread",
    }),
    svg("circle", {
      cx: place(node.mean), cy: y + h / 2, r: h / 2, fill: meanColor(data, node.mean),
      class: "mean",
    }));
}

const OUTPUT_LINE = 15;

/** How high the bars of several outputs are. */
export function outputsHeight(data) {
  return data.outputs.length * OUTPUT_LINE + 2;
}

/** Several predictions of a leaf, a line each: name, bar from the lowest leaf's, value. */
export function outputBars(data, node, x, y, w) {
  const values = Math.max(...node.outputs.map(([, words]) => measure(words, 11)));
  const wanted = Math.max(...data.outputs.map(({ name }) => measure(name, 11)));
  const names = Math.min(wanted, Math.max(0, w - values - 44));
  const from = x + names + 6;
  const room = Math.max(6, w - names - values - 12);
  const group = svg("g", { class: "outputs" });
  data.outputs.forEach(({ name, low, high }, k) => {
    const [value, words] = node.outputs[k];
    const at = high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
    const line = y + k * OUTPUT_LINE;
    group.append(
      svg("text", { x, y: line + 11, "font-size": 11, class: "quiet", text: isolate(cut(name, names, 11)) }),
      svg("rect", { x: from, y: line + 6, width: room, height: 2, rx: 1, class: "rail" }),
      svg("rect", { x: from, y: line + 3, width: Math.max(1.5, at * room), height: 8, rx: 1.5, class: "output" }),
      svg("text", { x: x + w, y: line + 11, "font-size": 11, "text-anchor": "end", class: "main", text: words }));
  });
  return group;
}

/** How wide a leaf needs to be for them. */
export function outputsWidth(data, node) {
  const values = Math.max(...node.outputs.map(([, words]) => measure(words, 11)));
  return Math.max(...data.outputs.map(({ name }) => measure(name, 11))) + values + 56;
}

function stacked(counts, spans, colors, y, h) {
  const top = Math.max(1, ...counts.map((bin) => bin.reduce((a, b) => a + b, 0)));
  const paths = colors.map(() => "");
  counts.forEach((bin, b) => {
    const [x, w] = spans[b];
    let base = y + h;
    bin.forEach((n, c) => {
      if (!n) return;
      const size = Math.max((n / top) * h, 0.6);
      paths[c] += `M${r(x)} ${r(base)}v${r(-size)}h${r(w)}v${r(size)}z`;
      base -= size;
    });
  });
  const group = svg("g", {});
  paths.forEach((d, c) => {
    if (d) group.append(svg("path", { d, ...(colors[c] ? { fill: colors[c] } : { class: "bin" }) }));
  });
  return group;
}

function r(value) {
  return Math.round(value * 100) / 100;
}

function colorsOf(data, counts) {
  const n = Math.max(0, ...counts.map((bin) => bin.length));
  if (data.task === "regression") return new Array(n).fill(null);
  return Array.from({ length: n }, (_, c) => data.classes[c]?.color ?? null);
}

/** Histogram of a split's column, with its threshold, or its categories by side. */
export function splitHistogram(data, node, x, y, w, h, labels) {
  const { hist } = node;
  return hist.categories
    ? categoryBars(data, node, x, y, w, h, labels)
    : numberBars(data, hist, node.threshold, x, y, w, h, labels, thresholdText(node));
}

/** The threshold as the condition writes it: the same number twice is the same text. */
function thresholdText(node) {
  return node.bound ?? /.*≤ (\S+)/.exec(node.condition ?? "")?.[1] ?? short(node.threshold);
}

function numberBars(data, hist, threshold, x, y, w, h, labels, words) {
  const { edges, counts } = hist;
  const low = edges[0];
  const high = edges[edges.length - 1];
  const place = (value) => x + (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5) * w;
  const spans = counts.map((_, b) => {
    const from = high > low ? place(edges[b]) : x + (b * w) / counts.length;
    const to = high > low ? place(edges[b + 1]) : x + ((b + 1) * w) / counts.length;
    return [from, Math.max(0.8, to - from - 0.6)];
  });
  const marked = threshold !== null && threshold !== undefined;
  const at = marked ? place(threshold) : 0;
  const group = svg("g", {});
  if (marked) group.append(svg("rect", { x, y, width: at - x, height: h, class: "holds" }));
  group.append(stacked(counts, spans, colorsOf(data, counts), y, h));
  group.append(svg("path", { d: `M${x} ${r(y + h + 0.5)}h${w}`, class: "axis" }));
  if (marked) {
    group.append(svg("path", { d: `M${r(at)} ${y - 2}V${r(y + h + 1)}`, class: "threshold" }));
    group.append(svg("path", {
      d: `M${r(at - 4)} ${r(y + h + 6)}L${r(at)} ${r(y + h + 0.5)}L${r(at + 4)} ${r(y + h + 6)}z`,
      class: "wedge",
    }));
  }
  if (labels) {
    // An ellipsis where the outermost bars hold all that lies beyond them, too.
    const [below, above] = hist.open ?? [false, false];
    const [first, last] = hist.ends ?? [ofColumn(low), ofColumn(high)];  // dates come as words
    const ends = [`${below ? "… " : ""}${first}`, `${last}${above ? " …" : ""}`];
    axisLabels(group, ends[0], marked ? words : "", ends[1], at, x, y + h + 15, w);
  }
  return group;
}

function axisLabels(group, low, middle, high, at, x, y, w) {
  const size = 10;
  const half = measure(middle, size, 600) / 2;
  const centre = Math.min(x + w - half, Math.max(x + half, at));
  if (middle) {
    group.append(svg("text", { x: r(centre), y, "font-size": size, "font-weight": 600, "text-anchor": "middle", class: "main", text: middle }));
  }
  if (!middle || centre - half > x + measure(low, size) + 5) {
    group.append(svg("text", { x, y, "font-size": size, class: "quiet", text: low }));
  }
  if (!middle || centre + half < x + w - measure(high, size) - 5) {
    group.append(svg("text", { x: x + w, y, "font-size": size, "text-anchor": "end", class: "quiet", text: high }));
  }
}

function categoryBars(data, node, x, y, w, h, labels) {
  const { categories, counts } = node.hist;
  const names = new Set(node.left_categories ?? []);
  const holds = node.hist.left ?? categories.map((name) => names.has(name));
  const order = categories.map((_, i) => i);
  const left = order.filter((i) => holds[i]);
  const right = order.filter((i) => !holds[i]);
  const gap = left.length && right.length ? 8 : 0;
  const step = (w - gap) / Math.max(1, categories.length);
  const spans = [];
  const sorted = [];
  [...left, ...right].forEach((i, k) => {
    const from = x + k * step + (k >= left.length ? gap : 0);
    spans.push([from, Math.max(1, step - 1.5)]);
    sorted.push(counts[i]);
  });
  const at = x + left.length * step + gap / 2 - 0.75;
  const group = svg("g", {});
  group.append(svg("rect", { x, y, width: Math.max(0, at - x), height: h, class: "holds" }));
  group.append(stacked(sorted, spans, colorsOf(data, counts), y, h));
  group.append(svg("path", { d: `M${x} ${r(y + h + 0.5)}h${w}`, class: "axis" }));
  if (gap) group.append(svg("path", { d: `M${r(at)} ${y - 2}V${r(y + h + 6)}`, class: "threshold" }));
  if (labels) {
    const size = 10;
    const more = (list) => (list.length > 1 ? ` +${list.length - 1}` : "");
    const wanted = (list) => (list.length ? measure(categories[list[0]] + more(list), size) + 1 : 0);
    const room = w - 8;
    const name = (list, other) => {
      if (!list.length) return "";
      // A side takes what the other does not want, and half at least.
      const own = Math.max(room / 2, room - wanted(other));
      return isolate(cut(categories[list[0]], own - measure(more(list), size), size)) + more(list);
    };
    group.append(svg("text", { x, y: y + h + 14, "font-size": size, class: "main", text: name(left, right) }));
    group.append(svg("text", { x: x + w, y: y + h + 14, "font-size": size, "text-anchor": "end", class: "quiet", text: name(right, left) }));
  }
  return group;
}

/** Histogram without a mark, as of the target at a leaf. */
export function plainHistogram(data, hist, x, y, w, h, labels) {
  return numberBars(data, hist, null, x, y, w, h, labels);
}

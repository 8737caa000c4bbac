/** One node, at one of three sizes: full (with charts), plain, chip. */

import { classBar, meanBar, outputBars, outputsHeight, outputsWidth, plainHistogram, splitHistogram } from "./charts.js";
import { flowOf, nodeColor, purity } from "./color.js";
import { isSum, sumPlan } from "./sum.js";
import { svg } from "./svg.js";
import { classText, conditionLines, conditionWidth, countShort, cut, isolate, measure, percent, rowsText, short, spreadText, targetText, withUnit, wrap } from "./text.js";

export const TIERS = ["chip", "plain", "full"];

// Of splits, as wide as their condition needs, within bounds; of leaves, as their prediction does.
const SPLIT_WIDTH = { full: [224, 264], plain: [176, 220], chip: [100, 140] };
const LIST_WIDTH = { full: [224, 264], plain: [176, 220], chip: [100, 172] };
const SUM_WIDTH = { full: [224, 340], plain: [160, 280], chip: [100, 220] };
const LEAF_WIDTH = { full: [148, 224], plain: [116, 188] };
const PAD = { full: 11, plain: 9, chip: 7 };
const TYPE = { full: 13, plain: 13, chip: 11 };
const LINE = { full: 17, plain: 17, chip: 14 };
const MOST_CHIP = 80; // of words across a leaf's chip
const FORMULA_LINES = 6;

/** A node's prediction, in words. */
export function predictionText(data, node) {
  if (data.task === "regression") {
    return node.prediction ?? withUnit(targetText(node.mean, data.target), data.target?.unit);
  }
  return classText(data, node.prediction);
}

/** A node's prediction as far as it fits: names of targets are cut, units left out, values stay. */
export function fitPrediction(data, node, room, size, weight) {
  const whole = predictionText(data, node);
  const isLong = node.outputs && measure(whole, size, weight) > room;
  const unit = withUnit("", data.target?.unit);
  let text = isLong ? node.outputs.map(([, words]) => words).join(" · ") : whole;
  if (unit && text.endsWith(unit) && measure(text, size, weight) > room) text = text.slice(0, -unit.length);
  const label = data.task === "regression" ? text : node.prediction;
  if (text === label) return isolate(cut(text, room, size, weight));
  const tail = `: ${label}`;
  const left = room - measure(tail, size, weight);
  if (left < measure("…", size, weight)) return isolate(cut(label, room, size, weight));
  return isolate(cut(text.slice(0, -tail.length), left, size, weight)) + tail;
}

/** The column's name in a node's condition, where it begins with it. */
export function columnName(data, node) {
  return node.column === null || node.column === undefined ? null : data.axis?.[node.column]?.name;
}

/**
 * Size of a card and its blocks from top to bottom; each block draws itself at a height.
 *
 * `leaves` counts those of the branch below the node, `note` is what stands at its foot.
 *
 * @returns {{w: number, h: number, blocks: {h: number, draw: (x: number, y: number,
 *   w: number) => Element}[]}}
 */
export function cardPlan(data, node, status, tier, { leaves = 1, note = null } = {}) {
  if (status === "ghost") return { w: 22, h: 14, blocks: [] };
  const isSplit = status === "split" && Boolean(node.condition);
  const pad = PAD[tier];
  let w;
  let blocks;
  if (isSplit) {
    const plan = conditionPlan(data, node, tier);
    w = plan.w;
    blocks = [...plan.blocks, ...chartBlocks(data, node, tier)];
  } else if (status === "folded") ({ w, blocks } = foldedPlan(data, node, tier, leaves));
  else if (tier === "chip") return chipLeaf(data, node, leaves);
  else {
    w = Math.max(leafWidth(data, node, tier), pillWidth(leaves));
    blocks = leafBlocks(data, node, tier, w - 2 * pad);
  }
  // What a sum comes to for a row that is followed cannot be seen at a glance.
  if (note && (tier !== "chip" || (isSplit && isSum(node)))) blocks.push(noteBlock(note));
  return { w, h: blocks.reduce((sum, block) => sum + block.h, 0) + 2 * pad - 3, blocks, pad };
}

/** A branch that is folded: its size, where a leaf has its prediction. */
function foldedPlan(data, node, tier, leaves) {
  const words = `${countShort(leaves)} leaves`;
  const pad = 2 * PAD[tier];
  const within = (wanted) => Math.round(Math.min(LEAF_WIDTH.full[1], Math.max(54, wanted + pad + 1)));
  if (tier === "chip") {
    const rows = rowWords(data, node);
    return {
      w: within(Math.max(measure(words, 11.5, 650), measure(rows, 10.5))),
      blocks: [lineBlock(words, 11.5, 650, "main", 14), lineBlock(rows, 10.5, 400, "quiet", 13), thinBar(data, node)],
    };
  }
  const aside = asideText(data, node);
  return {
    w: within(Math.max(measure(words, 14, 650), measure(footWords(data, node), 11) + 14 + measure(aside, 11))),
    blocks: [lineBlock(words, 14, 650, "main", 20), barBlock(data, node), footBlock(data, node, aside)],
  };
}

function sureText(data, node) {
  if (node.outputs) return "";
  return data.task === "regression" ? spreadText(data, node) : percent(node.confidence);
}

/** The most probable class, where weights of the classes choose another. */
function likeliestText(node) {
  return node.likeliest ? `${isolate(node.likeliest[0])} ${percent(node.likeliest[1])}` : "";
}

function leafWidth(data, node, tier) {
  const words = 15 + measure(predictionText(data, node), 14, 650) + 10 + measure(sureText(data, node), 12);
  const line = node.outputs ? outputsWidth(data, node) : words;
  const foot = measure(footWords(data, node), 11) + (node.likeliest ? 14 + measure(likeliestText(node), 11) : 0);
  const [least, most] = LEAF_WIDTH[tier];
  const wanted = node.formula ? most : Math.max(line, foot) + 2 * PAD[tier] + 2;
  return Math.round(Math.min(most, Math.max(least, wanted)));
}

function lineBlock(text, size, weight, className, h) {
  return {
    h,
    draw: (x, y) => svg("text", { x, y: y + size * 0.95, "font-size": size, "font-weight": weight, class: className, text }),
  };
}

/** The whole condition, and how wide a card it needs. */
function conditionPlan(data, node, tier) {
  const pad = 2 * PAD[tier];
  const within = (wanted, [least, most]) => Math.round(Math.min(most, Math.max(least, wanted + pad + 1)));
  if (isSum(node)) {
    const { w, blocks } = sumPlan(node, tier);
    return { w: within(w, SUM_WIDTH[tier]), blocks };
  }
  const name = columnName(data, node);
  const size = TYPE[tier];
  const bounds = (node.left_categories ? LIST_WIDTH : SPLIT_WIDTH)[tier];
  const w = within(conditionWidth(node.condition, name, size, bounds[1] - pad), bounds);
  const lines = conditionLines(node.condition, name, w - pad, size);
  return { w, blocks: lines.map((line) => lineBlock(line, size, 600, "main", LINE[tier])) };
}

/** What a split shows below its condition. */
function chartBlocks(data, node, tier) {
  if (tier === "chip") return [thinBar(data, node)];
  const blocks = [barBlock(data, node), footBlock(data, node, asideText(data, node))];
  if (tier === "full" && node.hist) {
    blocks.unshift({ h: 64, draw: (x, y, width) => splitHistogram(data, node, x, y + 5, width, 38, true) });
  }
  return blocks;
}

function asideText(data, node) {
  if (flowOf(data, node)) return "";
  if (node.outputs) return "";
  if (data.task === "regression") return `${data.target?.value ?? "mean"} ${targetText(node.mean, data.target)}`;
  const top = node.class;
  const alone = !data.classes[top]?.other;
  const label = alone ? data.classes[top]?.label : node.prediction;
  const colon = /\d$/.test(label ?? "") ? ":" : ""; // "3: 10%", for "3 10%" is no sentence
  return `${isolate(label ?? "")}${colon} ${percent(alone ? node.shares[top] : node.confidence)}`;
}

function leafBlocks(data, node, tier, w) {
  if (node.outputs) {
    const draw = (x, y, width) => outputBars(data, node, x, y, width);
    return [{ h: outputsHeight(data), draw }, footBlock(data, node, "")];
  }
  const blocks = [predictionBlock(data, node, sureText(data, node), w)];
  if (tier === "full" && node.target_hist) {
    blocks.push({ h: 32, draw: (x, y, width) => plainHistogram(data, node.target_hist, x, y + 3, width, 24, false) });
  }
  if (node.formula) blocks.push(...formulaBlocks(node.formula, w));
  blocks.push(barBlock(data, node));
  blocks.push(footBlock(data, node, likeliestText(node)));
  return blocks;
}

/** The formula of a linear leaf, a term or more a line. */
function formulaBlocks(formula, w) {
  const terms = formula.split(/ (?=[+−] )/);
  return wrap(terms, w, 11, 400, FORMULA_LINES).map((line) => lineBlock(line, 11, 400, "main", 15));
}

function predictionBlock(data, node, sure, w) {
  const aside = measure(sure, 12);
  return {
    h: 20,
    draw: (x, y) => svg("g", {},
      svg("rect", { x, y: y + 2, width: 10, height: 10, rx: 2.5, fill: nodeColor(data, node), class: "swatch" }),
      svg("text", { x: x + 15, y: y + 12, "font-size": 14, "font-weight": 650, class: "main", text: fitPrediction(data, node, w - aside - 21, 14, 650) }),
      svg("text", { x: x + w, y: y + 12, "font-size": 12, "text-anchor": "end", class: "quiet", text: sure })),
  };
}

function barBlock(data, node) {
  if (node.outputs) return { h: 0, draw: () => svg("g", {}) };
  const draw = data.task === "regression" ? meanBar : classBar;
  return { h: 14, draw: (x, y, width) => draw(data, node, x, y + 2, width, 8) };
}

/** How many rows there are, or what they weigh where they do not count alike. */
function amountText({ rows, weighted }) {
  return weighted ? `weight ${short(rows)}` : countShort(rows);
}

function footWords(data, node) {
  const flow = flowOf(data, node);
  if (flow) return `${amountText(flow)} of ${flow.label} · ${percent(flow.share)}`;
  return `${rowsText(node.rows)} · ${percent(node.share)}`;
}

/** A node's rows, or those of the class by which the picture is coloured. */
function rowWords(data, node) {
  const flow = flowOf(data, node);
  if (flow) return `${amountText(flow)} · ${percent(flow.share)}`;
  return `${countShort(node.rows)} ${node.rows === 1 ? "row" : "rows"}`;
}

function footBlock(data, node, aside) {
  const shown = flowOf(data, node) ?? node;
  const least = `${amountText(shown)} · ${percent(shown.share)}`;
  const noun = shown.rows === 1 ? "row" : "rows";
  const brief = shown.weighted ? least : least.replace(" ·", ` ${noun} ·`);
  return {
    h: 15,
    draw: (x, y, width) => {
      const left = width - (aside ? measure(aside, 11) + 10 : 0);
      const words = [footWords(data, node), brief].find((tried) => measure(tried, 11) <= left) ?? least;
      const room = width - measure(words, 11) - 10;
      return svg("g", {},
        svg("text", { x, y: y + 11, "font-size": 11, class: "quiet", text: words }),
        aside && svg("text", { x: x + width, y: y + 11, "font-size": 11, "text-anchor": "end", class: "quiet", text: fitAside(aside, room) }));
    },
  };
}

/** A label and its percentage: the label is cut, the number stays. */
function fitAside(text, room) {
  if (measure(text, 11) <= room) return text;
  const at = text.lastIndexOf(" ");
  const tail = text.slice(at);
  const head = text.slice(0, at).replace(/[\u2068\u2069]/g, "");
  return isolate(cut(head, Math.max(0, room - measure(tail, 11)), 11)) + tail;
}

function noteBlock(notes) {
  return {
    h: notes.length * 16 + 3,
    draw: (x, y, width) => {
      const group = svg("g", {});
      notes.forEach(({ text, color }, k) => {
        const line = y + 4 + k * 16;
        group.append(svg("circle", { cx: x + 4, cy: line + 7, r: 4, fill: color }));
        group.append(svg("text", { x: x + 13, y: line + 11, "font-size": 11, "font-weight": 600, class: "main", text: noteText(text, width - 14) }));
      });
      return group;
    },
  };
}

/** "age is 3": the name is cut, the value stays. */
function noteText(text, room) {
  const at = text.lastIndexOf(" is ");
  if (at < 0 || measure(text, 11, 600) <= room) return isolate(cut(text, room, 11, 600));
  const value = cut(text.slice(at), room, 11, 600);
  return isolate(cut(text.slice(0, at), room - measure(value, 11, 600), 11, 600)) + value;
}

/** What a leaf that stands for several wears at its foot. */
export function pillText(leaves) {
  return `${countShort(leaves)} leaves`;
}

/** How wide that is; nothing for a single leaf. */
export function pillWidth(leaves) {
  return leaves > 1 ? Math.ceil(measure(pillText(leaves), 11, 600)) + 12 : 0;
}

function chipLeaf(data, node, leaves) {
  const pad = PAD.chip;
  const prediction = predictionText(data, node);
  const words = rowWords(data, node);
  const inner = Math.min(MOST_CHIP, Math.max(measure(prediction, 11.5, 650), measure(words, 10.5), 34));
  const blocks = [
    lineBlock(fitPrediction(data, node, inner + 0.5, 11.5, 650), 11.5, 650, "main", 14),
    lineBlock(words, 10.5, 400, "quiet", 13),
    thinBar(data, node),
  ];
  return { w: Math.max(inner + 2 * pad, pillWidth(leaves)), h: 27 + 7 + 2 * pad - 3, blocks, pad };
}

function thinBar(data, node) {
  const regression = data.task === "regression";
  return {
    h: 7,
    draw: (x, y, width) => (regression ? meanBar(data, node, x, y, width, 7) : classBar(data, node, x, y + 2, width, 4)),
  };
}

/** Draw a card with its top left corner at 0, 0. */
export function drawCard(data, node, root, status, tier, plan) {
  const { w, h, blocks, pad } = plan;
  const flow = flowOf(data, node);
  const color = flow?.color ?? nodeColor(data, node);
  const group = svg("g", { class: `card ${status}` });
  const round = status === "leaf" || status === "alike" ? Math.min(12, h / 3) : 5;
  if (status === "ghost") {
    group.append(svg("rect", { class: "ground", width: w, height: h, rx: 7 }));
    group.append(svg("text", { x: w / 2, y: 9.5, "font-size": 10, "text-anchor": "middle", class: "quiet", text: "…" }));
    return group;
  }
  for (const off of status === "folded" ? [8, 4] : []) {
    group.append(svg("rect", { class: "ground under", x: off, y: off, width: w, height: h, rx: round }));
  }
  group.append(svg("rect", { class: "ground", width: w, height: h, rx: round }));
  const pale = status === "split" || status === "folded" ? 0.03 : 0.07;
  const shade = flow ? 0.4 * flow.share : pale + 0.2 * purity(data, node, root);
  group.append(svg("rect", { class: "shade", width: w, height: h, rx: round, fill: color, "fill-opacity": Math.round(shade * 1000) / 1000 }));
  let y = pad;
  for (const block of blocks) {
    group.append(block.draw(pad, y, w - 2 * pad));
    y += block.h;
  }
  group.append(svg("rect", { class: "frame", width: w, height: h, rx: round }));
  if (status === "alike") {
    group.append(svg("rect", { class: "inner", x: 2.5, y: 2.5, width: w - 5, height: h - 5, rx: round - 2 }));
  }
  return group;
}

/** A node too small for words: its colour, its purity. One element, for there are many. */
export function drawBlock(data, node, root, plan) {
  const flow = flowOf(data, node);
  const part = Math.round(100 * (flow ? 0.1 + 0.9 * flow.share : 0.35 + 0.6 * purity(data, node, root)));
  const block = svg("rect", { class: "block", width: plan.w, height: plan.h, rx: 6 });
  block.style.fill = `color-mix(in srgb, ${flow?.color ?? nodeColor(data, node)} ${part}%, var(--ground))`;
  return block;
}

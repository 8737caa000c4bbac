/** A weighted sum as people add up: its largest terms, a line each, and what it is held against. */

import { svg } from "./svg.js";
import { cut, cutMiddle, isolate, measure, percent } from "./text.js";

/** Terms that a card writes, the largest; the others are counted, and listed beside it. */
export const MOST_TERMS = 3;

// Type, line, room for a name and for the bars behind it.
const SUM_LOOK = {
  full: { size: 12, line: 17, name: 200, bars: 34 },
  plain: { size: 12, line: 16, name: 160, bars: 28 },
  chip: { size: 11, line: 14, name: 112, bars: 20 },
};
const BESIDE = 8; // before the bars

/** Whether a node's condition is a sum of two columns or more. */
export function isSum(node) {
  return Boolean(node.condition) && (node.weights?.length ?? 0) > 1;
}

/** The first terms of a sum; the number and share of those that are not written. */
export function sumTerms(node, most) {
  const known = node.weights.filter(([, weight]) => weight !== null);
  const folded = node.weights.find(([, weight]) => weight === null);
  const n = known.length === most + 1 && !folded ? most + 1 : most; // no line is saved
  const terms = known.slice(0, n).map(([name, weight, share, size], k) => ({
    name, size, share, sign: weight < 0 ? "− " : k ? "+ " : "", negative: weight < 0,
  }));
  const left = known.length - terms.length + (folded ? Number.parseInt(folded[0].replace(/,/g, ""), 10) : 0);
  if (!left) return { terms, rest: null };
  const share = Math.max(0, 1 - terms.reduce((sum, term) => sum + (term.share ?? 0), 0));
  const noun = left === 1 ? "more feature" : "more features";
  return { terms, rest: { words: `+ ${left} ${noun}`, share: percent(share) } };
}

/**
 * Sizes of a sum and how it draws itself.
 *
 * @param {object} node  a split for which `isSum` holds
 * @param {"full" | "plain" | "chip"} tier
 * @param {number} most  terms that are written
 * @returns {{w: number, blocks: {h: number, draw: (x: number, y: number, w: number) =>
 *   Element}[]}}  `w` is what the lines want; given less, names are cut in their middle
 */
export function sumPlan(node, tier, most = MOST_TERMS) {
  const look = SUM_LOOK[tier];
  const { size, line } = look;
  const { terms, rest } = sumTerms(node, most);
  const number = Math.max(...terms.map((term) => measure(term.sign + term.size, size, 600)));
  const times = measure(" × ", size);
  const start = number + times;
  const bars = BESIDE + look.bars;
  const name = Math.max(...terms.map((term) => Math.min(look.name, measure(term.name, size) + 0.5)));
  const bound = `sum ≤ ${node.bound}`;
  const wanted = [start + name + bars, measure(bound, size, 650)];
  if (rest) wanted.push(measure(restTexts(rest)[0], size - 1) + 1);
  const top = Math.max(1e-12, ...terms.map(({ share }) => Math.abs(share ?? 0)));
  const blocks = terms.map((term) => ({
    h: line,
    draw: (x, y, w) => {
      const base = y + size * 0.95;
      const text = (at, words, more) => svg("text", { x: at, y: base, "font-size": size, class: "main", text: words, ...more });
      return svg("g", { class: "term" },
        text(x + number, term.sign + term.size, { "font-weight": 600, "text-anchor": "end" }),
        text(x + number + times / 2, "×", { class: "quiet", "text-anchor": "middle" }),
        text(x + start, isolate(cutMiddle(term.name, w - start - bars, size))),
        bar(term, x + w - look.bars, y + 2, look.bars, line - 6, top));
    },
  }));
  if (rest) blocks.push(restBlock(rest, size - 1, line));
  blocks.push(boundBlock(bound, size, line, look.bars, blocks.length * line, terms.length * line));
  return { w: Math.max(...wanted), blocks };
}

/** The line of the terms that are not written, from the fullest to the briefest. */
function restTexts({ words, share }) {
  return [`${words} (${share} of the spread)`, `${words} (${share})`, `${words.replace(" more", "")} (${share})`];
}

function restBlock(rest, size, line) {
  const texts = restTexts(rest);
  return {
    h: line,
    draw: (x, y, w) => {
      const text = texts.find((tried) => measure(tried, size) <= w) ?? cut(texts[texts.length - 1], w, size);
      return svg("text", { x, y: y + size * 0.95, "font-size": size, class: "quiet", text });
    },
  };
}

/** A line as under a column of numbers, the bars' own, and what the sum must not pass. */
function boundBlock(words, size, line, bars, above, barred) {
  return {
    h: line + 5,
    draw: (x, y, w) => svg("g", {},
      svg("path", { d: `M${x} ${y + 0.5}h${w - bars - BESIDE}`, class: "axis" }),
      svg("path", { d: `M${x + w - bars - 0.5} ${y - above}v${barred}`, class: "axis" }),
      svg("text", { x, y: y + 4 + size * 0.95, "font-size": size, "font-weight": 650, class: "main bound", text: words })),
  };
}

/** A term's share of the sum's spread, the largest one's as wide as there is room. */
function bar({ share, negative }, x, y, w, h, top) {
  const width = Math.max(0.8, (Math.abs(share ?? 0) / top) * w);
  return svg("rect", { x, y, width, height: h, class: negative ? "minus" : "plus" });
}

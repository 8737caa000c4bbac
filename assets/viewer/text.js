/** Words and numbers: measured, cut, and kept apart in right-to-left text. */

export const FONT_FAMILY =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

const widths = new Map();
const cuts = new Map();
let pen = null;

/** Width of a text in units of the picture, at `size` and `weight`. */
export function measure(text, size, weight = 400) {
  if (typeof document === "undefined") return text.length * size * 0.55;
  const id = `${weight}/${text}`;
  let width = widths.get(id);
  if (width === undefined) {
    pen ??= document.createElement("canvas").getContext("2d");
    pen.font = `${weight} 100px ${FONT_FAMILY}`;
    width = pen.measureText(text).width / 100;
    if (widths.size > 20000) widths.clear();
    widths.set(id, width);
  }
  return width * size;
}

function letters(text) {
  if (typeof Intl !== "undefined" && Intl.Segmenter) {
    return Array.from(new Intl.Segmenter().segment(text), (part) => part.segment);
  }
  return Array.from(text);
}

/** `text` as far as it fits `room`, with an ellipsis where it was cut. */
export function cut(text, room, size, weight = 400) {
  if (measure(text, size, weight) <= room) return text;
  const id = `${room}/${size}/${weight}/${text}`;
  let kept = cuts.get(id);
  if (kept === undefined) {
    // No card shows more than a few hundred letters: the rest need not be looked at.
    const parts = letters(text.slice(0, 400));
    let low = 0;
    let high = parts.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const tried = `${parts.slice(0, middle).join("")}…`;
      if (measure(tried, size, weight) <= room) low = middle;
      else high = middle - 1;
    }
    kept = `${parts.slice(0, low).join("").trimEnd()}…`;
    if (cuts.size > 20000) cuts.clear();
    cuts.set(id, kept);
  }
  return kept;
}

/** A name that keeps its own writing direction inside a sentence of another. */
export function isolate(text) {
  return `\u2068${text}\u2069`;
}

/**
 * A question as one or two lines that fit `room`: the name is cut, never the value
 * that decides, unless that is a list of categories.
 */
export function questionLines(question, name, room, size, weight = 600) {
  if (measure(question, size, weight) <= room) {
    if (!name || !question.startsWith(name)) return [isolate(question)];
    return [isolate(name) + question.slice(name.length)];
  }
  if (name && question.startsWith(name)) {
    const value = question.slice(name.length).trim();
    return [isolate(cut(name, room, size, weight)), cut(value, room, size, weight)];
  }
  const [first, rest] = breakAt(question, room, size, weight);
  if (!rest) return [isolate(first)];
  const mark = Math.max(rest.lastIndexOf("≤"), rest.lastIndexOf("<"));
  const tail = mark > 0 ? rest.slice(mark) : "";
  if (!tail || measure(rest, size, weight) <= room) {
    return [isolate(first), isolate(cut(rest, room, size, weight))];
  }
  // A weighted sum: its middle may go, the number it is held against stays.
  const left = room - measure(` ${tail}`, size, weight);
  return [isolate(first), `${isolate(cut(rest.slice(0, mark), left, size, weight))} ${tail}`];
}

/** What fits the first line, and what is left; a first word too long is cut. */
function breakAt(text, room, size, weight) {
  const words = text.split(" ");
  let first = "";
  let n = 0;
  while (n < words.length) {
    const tried = first ? `${first} ${words[n]}` : words[n];
    if (measure(tried, size, weight) > room) break;
    first = tried;
    n += 1;
  }
  if (!first) [first, n] = [cut(words[0], room, size, weight), 1];
  return [first, words.slice(n).join(" ")];
}

/** 12,345. */
export function count(n) {
  return n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en-US");
}

/** 950, 12.3k, 1.2M: for where there is little room. */
export function countShort(n) {
  if (n === null || n === undefined || n < 10000) return count(n);
  const [size, letter] = n < 999500 ? [1e3, "k"] : [1e6, "M"];
  return `${(n / size).toFixed(n / size < 99.5 ? 1 : 0).replace(/\.0$/, "")}${letter}`;
}

/** "1 row", "120 rows". */
export function rowsText(n) {
  return `${count(n)} ${n === 1 ? "row" : "rows"}`;
}

/** A share of one as a percentage that never rounds a remainder away. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share < 1 && share > 0.999) return ">99.9%";
  const value = share * 100;
  const digits = (value > 0 && value < 9.95) || (value > 99 && value < 100) ? 1 : 0;
  return `${value.toFixed(digits).replace(/\.0$/, "")}%`;
}

/** A number with three significant digits and no needless zeros. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−");
  }
  const text =
    size >= 1000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

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

/** `text` as far as it fits `room`, without its middle: names differ at both ends. */
export function cutMiddle(text, room, size, weight = 400) {
  if (measure(text, size, weight) <= room) return text;
  const id = `${room}/${size}/${weight}/…/${text}`;
  let kept = cuts.get(id);
  if (kept === undefined) {
    const parts = letters(text.length > 800 ? text.slice(0, 400) + text.slice(-400) : text);
    const without = (n) => `${parts.slice(0, Math.ceil(n / 2)).join("").trimEnd()}…${parts.slice(parts.length - Math.floor(n / 2)).join("").trimStart()}`;
    let low = 0;
    let high = parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (measure(without(middle), size, weight) <= room) low = middle;
      else high = middle - 1;
    }
    kept = without(low);
    if (cuts.size > 20000) cuts.clear();
    cuts.set(id, kept);
  }
  return kept;
}

/** A name that keeps its own writing direction inside a sentence of another. */
export function isolate(text) {
  return `\u2068${text}\u2069`;
}

const MOST_LINES = 8; // of a list in a card
const LIST = /^((?:not )?in )\{(.*)\}(.*)$/;

/**
 * A condition of one column as lines that fit `room`: the name may lose its middle, the
 * value that decides stays, and a list of categories takes as many lines as it needs.
 */
export function conditionLines(condition, name, room, size, weight = 600) {
  const named = Boolean(name) && condition.startsWith(name);
  if (measure(condition, size, weight) <= room) {
    return [named ? isolate(name) + condition.slice(name.length) : isolate(condition)];
  }
  const value = named ? condition.slice(name.length).trim() : condition;
  const lines = named ? [isolate(cutMiddle(name, room, size, weight))] : [];
  const list = LIST.exec(value);
  if (list) return [...lines, ...wrap(listWords(list), room, size, weight, MOST_LINES)];
  return [...lines, ...wrap(value.split(" "), room, size, weight, named ? 2 : MOST_LINES)];
}

/** "in {Sales, Tech, Law}" as words to break between. */
function listWords([, before, inner, after]) {
  const words = inner.split(/(?<=,) /);
  words[0] = `{${words[0]}`;
  words[words.length - 1] += `}${after}`;
  return [before.trim(), ...words];
}

/** The width at which `conditionLines` cuts nothing: one line up to `most`, else of its parts. */
export function conditionWidth(condition, name, size, most, weight = 600) {
  const whole = measure(condition, size, weight);
  if (whole <= most || !name || !condition.startsWith(name)) return whole;
  const value = condition.slice(name.length).trim();
  const list = LIST.exec(value);
  const parts = list ? listWords(list) : [value];
  const opening = parts.slice(0, 2).join(" ");
  if (list && measure(opening, size, weight) <= most) parts.push(opening);
  return Math.max(...[name, ...parts].map((part) => measure(part, size, weight))) + 0.5;
}

/** Words in lines; a word too long for its line is cut, and so is the last line. */
export function wrap(words, room, size, weight, most) {
  const lines = [];
  let line = "";
  for (let k = 0; k < words.length; k += 1) {
    const tried = line ? `${line} ${words[k]}` : words[k];
    if (line && measure(tried, size, weight) > room) {
      if (lines.length === most - 1) {
        line = `${line} ${words.slice(k).join(" ")}`;
        break;
      }
      lines.push(line);
      line = words[k];
    } else line = tried;
  }
  if (line) lines.push(line);
  return lines.map((text) => isolate(cut(text, room, size, weight)));
}

const WHOLE = new Intl.NumberFormat("en-US"); // made once: it is slow to make

/** 12,345. */
export function count(n) {
  return n === null || n === undefined ? "–" : WHOLE.format(Math.round(n));
}

/** 950, 12.3k, 1.2M: for where there is little room. */
export function countShort(n) {
  if (n === null || n === undefined || n < 10000) return count(n);
  const [size, letter] = n < 999500 ? [1e3, "k"] : [1e6, "M"];
  return `${(n / size).toFixed(n / size < 99.5 ? 1 : 0).replace(/\.0$/, "")}${letter}`;
}

/** A class in words; edges are labelled yes and no, so such a class has its target's name. */
export function classText(data, label) {
  return data.target?.name && /^(yes|no)$/i.test(label) ? `${data.target.name}: ${label}` : label;
}

/** "1 row", "120 rows". */
export function rowsText(n) {
  return `${count(n)} ${n === 1 ? "row" : "rows"}`;
}

/** What a node's rows weigh, where they do not count alike. */
export function weightText(node) {
  return node.weight === undefined ? "" : `, weight ${short(node.weight)}`;
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

/** A text with its unit behind it, and a space between but before %. */
export function withUnit(text, unit) {
  return unit && unit !== "%" ? `${text} ${unit}` : `${text}${unit ?? ""}`;
}

/** A value of the target without its unit: a number, or hours as a time. */
export function targetText(value, target) {
  return target?.times && Number.isFinite(value) ? timeText(value) : short(value);
}

/** Hours as "1:40", to the minute, second or millisecond, the first off by 0.5% at most. */
function timeText(hours) {
  const size = Math.abs(hours);
  const near = (parts) => Math.abs(Math.round(size * parts) / parts - size) <= 0.005 * size;
  const parts = [60, 3600].find(near) ?? 3_600_000;
  const passed = Math.round((Math.round(size * parts) / parts) * 3_600_000);
  const [minutes, seconds] = [Math.floor(passed / 60_000), (passed % 60_000) / 1000];
  let text = `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
  if (seconds) text += `:${seconds < 10 ? "0" : ""}${seconds}`;
  return hours < 0 && passed ? `−${text}` : text;
}

/** Whether a regression tree predicts means, about which rows spread. */
export function isMean(data) {
  return (data.target?.value ?? "mean") === "mean";
}

/** The standard deviation of a node's rows; of a quantile it is no plus and minus. */
export function spreadText(data, node) {
  return `${isMean(data) ? "±" : "SD"} ${targetText(node.std, data.target)}`;
}

/** A number with three significant digits and no needless zeros. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−");
  }
  const text =
    size >= 1000 ? WHOLE.format(Math.round(value)) : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

/** A value of a column, short: four digits have no comma, as in conditions, or of years. */
export function ofColumn(value) {
  return short(value).replace(/^(−?\d),(\d{3})$/, "$1$2");
}

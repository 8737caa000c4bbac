/** Save what is on screen: SVG or PNG, styles inlined, no link to anything. */

import { scaleEnds, scaleName, viridis } from "./color.js";
import { svg } from "./svg.js";
import { classText, cut, FONT_FAMILY, isolate, measure } from "./text.js";

const COPIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight",
  "text-anchor", "vector-effect",
];
const PLAIN = {
  "fill-opacity": "1", "stroke-opacity": "1", "stroke-dasharray": "none", opacity: "1",
  "stroke-linecap": "butt", "stroke-linejoin": "miter", "vector-effect": "none",
  "text-anchor": "start", stroke: "none",
};

/** The picture in view as one SVG text that needs nothing else. */
export function pictureSvg(stageSvg, data, size) {
  const { w, h, ground, text } = size;
  const copy = stageSvg.cloneNode(true);
  inline(stageSvg, copy);
  copy.querySelectorAll(".ring, .handle.open").forEach((part) => {
    if (part.getAttribute("display") === "none") part.remove();
  });
  for (const part of copy.querySelectorAll("*")) {
    for (const { name } of [...part.attributes]) {
      if (/^(class|role|tabindex|data-|aria-|style)/.test(name)) part.removeAttribute(name);
    }
  }
  const foot = legendBand(data, w, h + 34, text);
  const whole = svg("svg", {
    width: w, height: h + 34 + foot.h, viewBox: `0 0 ${w} ${h + 34 + foot.h}`, "font-family": FONT_FAMILY,
  });
  whole.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const title = data.title ?? "Tree";
  whole.append(
    svg("title", { text: title }),
    svg("rect", { width: w, height: h + 34 + foot.h, fill: ground }),
    svg("text", { x: 16, y: 23, "font-size": 15, "font-weight": 650, fill: text, text: isolate(cut(title, w - 32, 15, 650)) }));
  const inner = svg("svg", { x: 0, y: 34, width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  inner.append(...copy.childNodes);
  whole.append(inner, foot.group);
  return new XMLSerializer().serializeToString(whole);
}

function inline(from, to) {
  if (from.matches(".ring, .handle.open") && !Number(getComputedStyle(from).opacity)) {
    to.setAttribute("display", "none");
    return;
  }
  const style = getComputedStyle(from);
  for (const name of COPIED) {
    const value = style.getPropertyValue(name);
    if (name.startsWith("font") && from.tagName !== "text") continue;
    if (value && value !== PLAIN[name]) to.setAttribute(name, plainColor(value));
    else if (name !== "stroke") to.removeAttribute(name);
  }
  for (let i = 0; i < from.children.length; i += 1) inline(from.children[i], to.children[i]);
}

/** A mixed colour as older programs know it. */
function plainColor(value) {
  const mixed = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)\)$/.exec(value);
  return mixed ? `rgb(${mixed.slice(1).map((part) => Math.round(255 * part)).join(",")})` : value;
}

function legendBand(data, w, y, color) {
  const group = svg("g", {});
  if (data.task === "regression") return { group: scaleBand(data, w, y, color), h: 30 };
  let x = 16;
  let line = 0;
  for (const { label, color: fill } of data.classes) {
    const words = cut(classText(data, label), w - 60, 12);
    const room = measure(words, 12) + 34;
    if (x > 16 && x + room > w) {
      x = 16;
      line += 1;
    }
    group.append(
      svg("rect", { x, y: y + 8 + line * 20, width: 11, height: 11, rx: 2.5, fill }),
      svg("text", { x: x + 16, y: y + 18 + line * 20, "font-size": 12, fill: color, text: isolate(words) }));
    x += room;
  }
  return { group, h: (line + 1) * 20 + 10 };
}

function scaleBand(data, w, y, color) {
  const [low, high] = scaleEnds(data);
  const words = cut(`${scaleName(data)} ${low}`, w - 180, 12);
  const label = (x, text) => svg("text", { x, y: y + 18, "font-size": 12, fill: color, text: isolate(text) });
  const from = 24 + measure(words, 12);
  const steps = Array.from({ length: 9 }, (_, i) => svg("rect", { x: from + i * 10, y: y + 8, width: 10, height: 11, fill: viridis(i / 8) }));
  return svg("g", {}, label(16, words), ...steps, label(from + 98, high));
}

/** The same picture as a PNG, twice as fine. */
export async function picturePng(text, scale = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * scale;
  canvas.height = image.naturalHeight * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for a PNG; save it as SVG."))), "image/png");
  });
}

/** Hand a blob to the reader as a file. */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A file name out of a title. */
export function fileName(title, ending) {
  const words = (title ?? "").normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return `${words.slice(0, 60).toLowerCase() || "tree"}.${ending}`;
}

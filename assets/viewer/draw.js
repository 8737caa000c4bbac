/** The picture: draws what is in view, glides nodes by key, reuses elements. */

import { drawBlock, drawCard, pillText, pillWidth, predictionText } from "./card.js";
import { edgeEnds, edgePath, edgePlate, edgeWidth, edgeWord, LOW_ACTIVITY, platePlace, plateWidth, PLATE_ROOM } from "./edges.js";
import { leavesBelow, nodeOf } from "./model.js";
import { svg } from "./svg.js";
import { percent, rowsText, weightText } from "./text.js";

const GLIDE = 250; // milliseconds
const FAR = 0.45; // zoom below which words cannot be read
const MARGIN = 0.35; // of the view, drawn around it

/** The words of a node for an assistive reader. */
export function nodeLabel(data, node, status, leaves) {
  const parts = [];
  if (node.key) parts.push(node.key.endsWith("0") ? "yes" : "no");
  if (status === "split") parts.push(`${node.condition}?`);
  else if (status === "folded") parts.push(`${leaves} leaves, folded`);
  else parts.push(`prediction ${predictionText(data, node)}`);
  if (["leaf", "alike"].includes(status) && node.confidence !== null && node.confidence !== undefined) {
    parts.push(percent(node.confidence));
    if (node.likeliest) parts.push(`${node.likeliest[0]} ${percent(node.likeliest[1])}`);
  }
  parts.push(`${rowsText(node.rows)}, ${percent(node.share)}${weightText(node)}`);
  if (status === "alike") parts.push(`${leaves} leaves of this class`);
  if (status === "ghost") return "branch hidden by the filter";
  return parts.join(", ");
}

/** Draws one arrangement after another into an SVG group. */
export class Picture {
  constructor(layer, reduced) {
    this.reduced = reduced;
    this.edgeLayer = svg("g", { class: "edges", "aria-hidden": "true" });
    this.pathLayer = svg("g", { class: "paths", "aria-hidden": "true" });
    this.plateLayer = svg("g", { class: "plates", "aria-hidden": "true" });
    this.nodeLayer = svg("g", { class: "nodes", role: "tree" });
    layer.append(this.edgeLayer, this.pathLayer, this.plateLayer, this.nodeLayer);
    this.items = new Map();
    this.order = [];
    this.view = null;
    this.zoom = 1;
    this.frame = 0;
  }

  /** Take a new arrangement; nodes that stay glide to their places. */
  show(arrangement, look, glide) {
    const before = this.items;
    const items = new Map();
    const { list, plans, tiers, scales, x, y } = arrangement;
    this.smallest = Math.min(...new Set(scales));
    this.scales = [...new Set(scales)];
    const now = performance.now();
    list.forEach((entry, k) => {
      const old = before.get(entry.key);
      const parent = entry.parent < 0 ? null : items.get(list[entry.parent].key);
      const from = old ?? before.get(parent?.key);
      const item = old ?? { key: entry.key, el: null, edge: null, plate: null, path: null };
      const s = scales[k];
      item.wasX = from ? from.x + (from.w - plans[k].w * s) / 2 : x[k];
      item.wasY = from ? from.y : y[k];
      item.fresh = !old;
      if (old?.el) old.el.style.opacity = "";
      Object.assign(item, {
        entry, parent, plan: plans[k], tier: tiers[k], node: nodeOf(look.index, entry),
        s, w: plans[k].w * s, h: plans[k].h * s, toX: x[k], toY: y[k],
      });
      items.set(entry.key, item);
    });
    list.forEach((entry, k) => {
      const siblings = entry.parent < 0 ? [k] : [k - 1, k, k + 1].filter((j) => list[j]?.parent === entry.parent);
      const item = items.get(entry.key);
      item.set = siblings.length;
      item.place = siblings.indexOf(k) + 1;
    });
    for (const [key, item] of before) if (!items.has(key)) this.#drop(item);
    this.items = items;
    this.order = [...items.values()];
    this.look = look;
    this.start = glide && !this.reduced() && this.order.length <= 600 ? now : -Infinity;
    this.nodeLayer.setAttribute("aria-label", look.label);
    this.restyle(look);
    this.#step(now);
  }

  /** Tell the picture what part of it is in view. */
  see(view, zoom) {
    const seen = this.view;
    const far = this.scales?.filter((s) => s * zoom < FAR).length;
    const inside = seen && view.x >= seen.x && view.y >= seen.y &&
      view.x + view.w <= seen.x + seen.w && view.y + view.h <= seen.y + seen.h;
    const near = this.zoom / zoom < 1.6 && zoom / this.zoom < 1.6;
    if (inside && far === this.far && near) return;
    this.zoom = zoom;
    this.far = far;
    this.view = {
      x: view.x - MARGIN * view.w, y: view.y - MARGIN * view.h,
      w: view.w * (1 + 2 * MARGIN), h: view.h * (1 + 2 * MARGIN),
    };
    if (this.look && !this.frame) this.#step(performance.now());
  }

  /** Marks that change without a new arrangement: selection, search, paths. */
  restyle(look) {
    this.look = look;
    for (const item of this.order) if (item.el) this.#mark(item);
  }

  /** Draw again what is in view, as after the focus moved out of it. */
  redraw() {
    if (!this.frame) this.#step(performance.now());
  }

  /** The element of a node, if it is in view. */
  element(key) {
    return this.items.get(key)?.el ?? null;
  }

  destroy() {
    cancelAnimationFrame(this.frame);
  }

  #step(now) {
    const t = Math.min(1, Math.max(0, (now - this.start) / GLIDE));
    const eased = 1 - (1 - t) ** 3;
    for (const item of this.order) {
      item.x = item.wasX + (item.toX - item.wasX) * eased;
      item.y = item.wasY + (item.toY - item.wasY) * eased;
    }
    this.#paint(eased);
    cancelAnimationFrame(this.frame);
    this.frame = t < 1 ? requestAnimationFrame((later) => this.#step(later)) : 0;
  }

  #paint(eased) {
    const { view } = this;
    if (!view) return;
    const inView = (x, y, w, h) =>
      x < view.x + view.w && x + w > view.x && y < view.y + view.h && y + h > view.y;
    const buckets = new Map();
    const shown = [];
    for (const item of this.order) {
      item.far = item.s * this.zoom < FAR;
      if (item.key === this.look.focus || inView(item.x, item.y, item.w, item.h)) {
        shown.push(item);
        this.#place(item, eased);
      } else this.#remove(item, "el");
      if (item.parent) this.#edge(item, inView, buckets);
    }
    let at = this.nodeLayer.firstChild;
    for (const { el } of shown) {
      if (el === at) at = at.nextSibling;
      else this.nodeLayer.insertBefore(el, at);
    }
    this.#drawBuckets(buckets);
  }

  #place(item, eased) {
    const { look } = this;
    const leaves = item.entry.status === "folded" ? leavesBelow(look.index, item.entry.i) : "";
    const form = `${item.tier}/${item.entry.status}/${leaves}/${item.far}/${look.version}`;
    if (!item.el) {
      item.el = svg("g", { role: "treeitem", "data-key": item.key });
      item.form = null;
    }
    if (item.form !== form || item.drawn !== item.node || item.drawnPlan !== item.plan) {
      this.#fill(item);
      item.form = form;
      item.drawn = item.node;
      item.drawnPlan = item.plan;
    }
    const digits = item.s < 1 ? 4 : 1;
    const scale = item.s < 1 ? ` scale(${item.s.toFixed(5)})` : "";
    item.el.setAttribute("transform", `translate(${item.x.toFixed(digits)} ${item.y.toFixed(digits)})${scale}`);
    if (item.fresh) item.el.style.opacity = eased < 1 ? eased : "";
    if (eased === 1) item.fresh = false;
  }

  #fill(item) {
    const { data, index } = this.look;
    const { node, entry, plan } = item;
    const root = index.nodes[0];
    item.el.classList.remove("glow"); // or a new picture of an old change would glow again
    item.el.replaceChildren(item.far
      ? drawBlock(data, node, root, plan)
      : drawCard(data, node, root, entry.status, item.tier, plan));
    if (!item.far) {
      item.el.append(svg("rect", {
        class: "ring", x: -4, y: -4, width: plan.w + 8, height: plan.h + 8, rx: 11,
      }));
      if (index.children[entry.i].length && entry.status !== "ghost") item.el.append(this.#handle(item));
    }
    const attributes = {
      "aria-level": entry.level + 1, "aria-setsize": item.set, "aria-posinset": item.place,
      "aria-label": nodeLabel(data, node, entry.status, leavesBelow(index, entry.i)),
      "aria-expanded": !index.children[entry.i].length || entry.status === "ghost" ? null : String(entry.status === "split"),
    };
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null) item.el.removeAttribute(name);
      else item.el.setAttribute(name, value);
    }
    this.#mark(item);
  }

  #handle(item) {
    const { index, direction } = this.look;
    const { plan } = item;
    const { status, i } = item.entry;
    const folded = status !== "split";
    const leaves = leavesBelow(index, i);
    const word = status === "alike" ? pillText(leaves) : folded ? "+" : "−";
    const w = status === "alike" ? pillWidth(leaves) : folded ? 24 : 18;
    const [x, y] = direction === "right" ? [plan.w + (folded ? w / 2 - 2 : 0), plan.h / 2] : [plan.w / 2, plan.h + (folded ? 7 : 0)];
    return svg("g", { class: `handle ${folded ? "closed" : "open"}`, "data-fold": item.key, transform: `translate(${x} ${y})` },
      svg("rect", { x: -w / 2, y: -9, width: w, height: 18, rx: 9 }),
      svg("text", { y: 4, "font-size": 11, "font-weight": 600, "text-anchor": "middle", text: word }));
  }

  #mark(item) {
    const { selected, focus, found, on, colors, changed, faded } = this.look;
    const { el, key } = item;
    const paths = on?.get(key);
    el.setAttribute("aria-selected", key === selected ? "true" : "false");
    el.setAttribute("tabindex", key === focus ? "0" : "-1");
    el.classList.toggle("selected", key === selected);
    el.classList.toggle("found", Boolean(found?.has(key)));
    el.classList.toggle("faint", Boolean(faded?.(key)));
    el.classList.toggle("changed", Boolean(changed?.has(key)));
    el.classList.toggle("on-path", Boolean(paths));
    if (paths) el.style.setProperty("--path", paths.length > 1 ? "var(--text)" : colors[paths[0]]);
    else el.style.removeProperty("--path");
  }

  #edge(item, inView, buckets) {
    const { parent, node, far, s } = item;
    const { direction, flow, faded } = this.look;
    const x = Math.min(parent.x, item.x);
    const y = Math.min(parent.y, item.y);
    const w = Math.max(parent.x + parent.w, item.x + item.w) - x;
    const h = Math.max(parent.y + parent.h, item.y + item.h) - y;
    const width = edgeWidth(this.look.data, node) * s;
    const seen = inView(x, y, w, h);
    if (!seen || far) {
      this.#remove(item, "edge");
      this.#remove(item, "plate");
    }
    if (!seen) {
      this.#remove(item, "path");
      return;
    }
    const ends = edgeEnds(parent, item, direction);
    const low = node.activity !== null && node.activity !== undefined && node.activity < LOW_ACTIVITY;
    const faint = Boolean(faded?.(item.key)) || item.entry.status === "ghost";
    const d = edgePath(ends, direction, far, s < 1 ? 1e4 : 10);
    if (far) {
      const id = `${width < 1 ? width.toPrecision(1) : Math.round(width)}/${low}/${faint}/${flow ? 1 : 0}`;
      buckets.set(id, (buckets.get(id) ?? "") + d);
    } else {
      if (!item.edge) {
        item.edge = this.edgeLayer.appendChild(svg("path", {}));
        item.edgeForm = null;
      }
      const form = `edge${low ? " low" : ""}${faint ? " faint" : ""}${flow ? " flow" : ""}`;
      if (item.edgeForm !== form) item.edge.setAttribute("class", (item.edgeForm = form));
      item.edge.setAttribute("d", d);
      item.edge.setAttribute("stroke-width", width.toFixed(s < 1 ? 4 : 1));
      this.#plate(item, ends, faint);
    }
    this.#path(item, d);
  }

  #plate(item, ends, faint) {
    const small = item.tier === "chip";
    let word = edgeWord(item.parent.node, item.key.endsWith("0"));
    const room = Math.abs(ends[2] - ends[0]) / item.s;
    const isTight = this.look.direction === "right" ? plateWidth(word, small) > PLATE_ROOM * room : room < 46;
    if (isTight) word = word.replace(", missing", " ?");
    const form = `${word}/${small}`;
    if (!item.plate || item.plateForm !== form) {
      this.#remove(item, "plate");
      item.plate = edgePlate(word, small).group;
      item.plateForm = form;
      if (word.includes("?")) item.plate.append(svg("title", { text: "Missing values go this way." }));
      this.plateLayer.append(item.plate);
    }
    const [x, y] = platePlace(ends, this.look.direction);
    item.plate.classList.toggle("faint", faint);
    const scale = item.s < 1 ? ` scale(${item.s.toFixed(5)})` : "";
    item.plate.setAttribute("transform", `translate(${x.toFixed(3)} ${y.toFixed(3)})${scale}`);
  }

  /** A followed row's path over an edge; two that share it run side by side. */
  #path(item, d) {
    const { on, colors, direction } = this.look;
    const paths = on?.get(item.key);
    if (!paths) return this.#remove(item, "path");
    item.path ??= this.pathLayer.appendChild(svg("g", {}));
    item.path.replaceChildren(...paths.map((p, k) => {
      const off = paths.length > 1 ? (k === 0 ? -2.6 : 2.6) * item.s : 0;
      return svg("path", {
        d, stroke: colors[p], class: p === 0 ? "one" : "two", "stroke-width": 3.5 * item.s,
        "stroke-dasharray": p === 0 ? null : `${1.5 * item.s} ${6.5 * item.s}`,
        transform: off ? (direction === "right" ? `translate(0 ${off})` : `translate(${off} 0)`) : null,
      });
    }));
    return undefined;
  }

  #drawBuckets(buckets) {
    this.farLayer ??= this.edgeLayer.appendChild(svg("g", {}));
    this.farLayer.replaceChildren(...[...buckets].map(([id, d]) => {
      const [width, low, faint, flow] = id.split("/");
      const form = `edge${low === "true" ? " low" : ""}${faint === "true" ? " faint" : ""}${flow === "1" ? " flow" : ""}`;
      return svg("path", { d, class: form, "stroke-width": Math.max(Number(width), 0.8 / this.zoom) });
    }));
  }

  #remove(item, part) {
    item[part]?.remove();
    item[part] = null;
  }

  #drop(item) {
    for (const part of ["el", "edge", "plate", "path"]) this.#remove(item, part);
  }

  /** Let the splits that changed glow once. */
  glow(keys) {
    for (const key of keys) {
      const el = this.items.get(key)?.el;
      if (!el) continue;
      el.classList.remove("glow");
      void el.getBoundingClientRect();
      el.classList.add("glow");
    }
  }
}

/** The tree viewer: mounts into an element, draws a payload, reports selections. */

import { arrange, chooseSizes } from "./arrange.js";
import { changedSplits } from "./diff.js";
import { Picture } from "./draw.js";
import { boxOfFrames, cameraOn, leaves, pathBox, placeOf } from "./fit.js";
import { listenToKeys } from "./keys.js";
import { fillLegend } from "./legend.js";
import { createState, fullDepth, isAlike, isOpen, nodeOf, reveal, setLimit, shareFaces, toggleFold } from "./model.js";
import { Camera, CLOSEST } from "./move.js";
import { listenToPointer, Press } from "./pointer.js";
import { isSum } from "./sum.js";
import { html, svg } from "./svg.js";
import { download, fileName, picturePng, pictureSvg } from "./save.js";
import { Scrubber } from "./scrubber.js";
import { Tip } from "./tip.js";
import { buildTools } from "./tools.js";
import { firstFrame, largestFrame, lookOf, sceneOf } from "./view.js";

/**
 * Draw a tree into an element and keep it there.
 *
 * @param {HTMLElement} root  emptied first, given the class `tl-viewer`
 * @param {{data: object, onSelect?: (key: ?string) => void,
 *   onEvent?: (name: string, value: number) => void}} options  `onSelect` hears of nodes
 *   the reader selects, `onEvent("frame", i)` of the frame where the reader stops
 * @returns {{update: (data: object) => void, select: (key: ?string) => void,
 *   frame: () => number, destroy: () => void}}
 */
export function mount(root, options) {
  const viewer = new Viewer(root, options);
  return {
    update: (data) => viewer.update(data),
    select: (key) => viewer.select(key, false),
    frame: () => viewer.at,
    destroy: () => viewer.destroy(),
  };
}

class Viewer {
  constructor(root, { data, onSelect, onEvent }) {
    this.root = root;
    this.onSelect = onSelect;
    this.onEvent = onEvent;
    this.version = 0;
    this.reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#build();
    this.#setData(data, true);
    this.watch = new ResizeObserver(() => this.#resize());
    this.watch.observe(this.stage);
  }

  /** New data: place, zoom, folds and selection stay; nodes glide. A press is waited for. */
  update(data) {
    this.waiting = this.press.isHeld ? data : null;
    if (this.waiting) return;
    const before = this.data;
    const same = ["title", "task"].every((name) => before[name] === data[name]) &&
      before.target?.name === data.target?.name;
    const shown = before.trees[this.at];
    this.#setData(data, !same);
    if (same && data.options?.live) this.picture.glow(changedSplits(shown, data.trees[this.at]));
  }

  /** Select a node, or none; notify the owner only of the reader's own choices. */
  select(key, notify = true) {
    if (key !== null && !this.index.byKey.has(key)) return;
    this.state.selected = key;
    if (key !== null && reveal(this.index, this.state, key)) this.state.focus = key;
    this.#refresh(true);
    if (notify) this.onSelect?.(key);
  }

  destroy() {
    this.watch.disconnect();
    this.camera.destroy();
    this.picture.destroy();
    this.time.destroy();
    this.tip.destroy();
    this.stopKeys();
    this.waiting = null;
    clearTimeout(this.hintTimer);
    this.root.replaceChildren();
    this.root.classList.remove("tl-viewer");
  }

  #build() {
    const { root } = this;
    root.classList.add("tl-viewer");
    this.title = html("div", { class: "title" });
    this.bar = html("div", { class: "bar" });
    this.layer = svg("g", {});
    this.stage = svg("svg", { class: "stage" }, this.layer);
    this.hint = html("div", { class: "hint", "aria-hidden": "true" });
    this.timeBox = html("div", { class: "time", hidden: true });
    this.legend = html("div", { class: "legend" });
    this.notes = html("div", { class: "notes", role: "note", tabindex: 0 });
    root.replaceChildren(this.title, this.timeBox, this.bar,
      html("div", { class: "pane" }, this.stage, this.hint), this.legend, this.notes);
    this.picture = new Picture(this.layer, this.reduced);
    this.camera = new Camera(this.stage, {
      reduced: this.reduced,
      apply: (x, y, k) => {
        this.layer.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(5)})`);
        this.picture.see(this.camera.view(), k);
      },
      onTouch: () => this.tip.hide(),
      onHint: () => this.#hint("Click the picture, or hold Ctrl, to zoom with the wheel"),
    });
    this.tip = new Tip(root);
    this.time = new Scrubber(this.timeBox, {
      onMove: (at, glide, passes) => this.#move(at, glide, passes),
      onRest: (at) => {
        this.#rest();
        this.onEvent?.("frame", at);
      },
    });
    // A slider that is back where it was pressed says nothing of a change.
    this.timeBox.addEventListener("pointerup", () => this.#rest());
    this.tools = buildTools(this.bar, {
      levels: (step) => this.#levels(step),
      find: (words) => { this.state.find = words; this.#refresh(true); },
      findNext: () => this.#findNext(),
      filter: (filter) => { this.state.filter = filter; this.#refresh(true); },
      apart: (apart) => this.#apart(apart),
      rotate: () => this.#rotate(),
      zoom: (factor) => this.camera.zoomBy(factor, undefined, undefined, true),
      fit: () => this.#fit(true),
      save: (kind) => this.#save(kind),
    });
    this.stopKeys = listenToKeys(this.stage, {
      list: () => this.arrangement.list,
      focus: () => this.state.focus,
      direction: () => this.direction,
      go: (key) => this.#focus(key),
      select: (key) => this.select(key),
      fold: (key) => this.#fold(key),
      zoom: (factor) => this.camera.zoomBy(factor, undefined, undefined, true),
      fit: () => this.#fit(true),
    });
    this.press = new Press(root, () => this.waiting && this.update(this.waiting));
    listenToPointer(this.stage, root, {
      dragged: () => this.camera.moved,
      busy: () => this.camera.pointers.size > 0,
      fold: (key) => this.#fold(key),
      select: (key) => { if (key !== null || this.state.selected !== null) this.select(key); },
      showTip: (key, wait) => this.#tip(key, wait),
      hideTip: () => this.tip.hide(),
      focus: (key) => { this.state.focus = key; },
    });
  }

  #setData(data, isNew) {
    const before = this.data;
    this.data = data;
    if (data.trees.length > 1) shareFaces(data.trees);
    const options = data.options ?? {};
    const last = data.trees.length - 1;
    const { root } = this;
    if (data.theme) root.dataset.theme = data.theme;
    else delete root.dataset.theme;
    root.classList.toggle("compact", Boolean(options.compact));
    // A whole of fixed height: the picture gets what the rest leaves of it.
    root.classList.toggle("whole", Boolean(options.total));
    root.style.height = options.total ? `${options.total}px` : "";
    this.stage.style.height = options.total ? "" : `${options.height ?? 620}px`;
    this.bar.hidden = options.controls === false || Boolean(options.compact);
    this.title.textContent = data.title ?? "";
    this.title.hidden = !data.title || options.heading === false;
    const flowing = data.classes?.find(({ label }) => label === data.flow?.class);
    root.style.setProperty("--flow", flowing?.color ?? "var(--edge)");
    if (isNew) {
      this.state = createState(options);
      // Levels the reader wants, or null to choose. A small picture shows the whole
      // shape, and words as far down as there is room.
      if (options.compact) this.state.limit ??= 99;
      this.asked = this.state.limit;
      const wanted = data.frame ?? firstFrame(data);
      this.at = Math.min(last, Math.max(0, wanted));
      this.direction = options.direction === "right" ? "right" : "down";
      this.ready = false;
      this.sliding = false;
      this.camera.touched = false;
    } else if (!data.frames?.kind) this.at = firstFrame(data);
    else if (data.frames.kind !== before.frames?.kind) this.at = Math.min(last, data.frame ?? firstFrame(data));
    else this.at = Math.min(this.at, last);
    this.version += 1;
    this.time.set(data, this.at);
    const paths = JSON.stringify((data.paths ?? []).map(({ keys }) => keys));
    const newPaths = paths !== (this.paths ?? "[]");
    this.paths = paths;
    if (this.ready) {
      this.#refresh(true);
      const path = pathBox(this.arrangement, this.scene.on);
      // What was opened and sized for a path is so no longer, once that is gone.
      if (newPaths && (path ? leaves(path, this.camera.view()) : !this.camera.touched)) {
        this.#choose();
        this.#refresh(true);
        this.#fit(true, false);
      } else if (!this.camera.touched) this.#fit(true, false);
    } else this.#resize();
  }

  /** First drawing, once there is a place to draw in; later, a new fit. */
  #resize() {
    if (!this.stage.clientWidth || !this.stage.clientHeight) return;
    const size = `${this.stage.clientWidth}x${this.stage.clientHeight}`;
    if (this.ready && size === this.size) return;
    this.size = size;
    const first = !this.ready;
    this.ready = true;
    if (this.sliding) {
      // A legend of a line more takes height from trees that pass; they keep their sizes.
      this.picture.see(this.camera.view(), this.camera.k);
      if (!this.camera.touched && leaves(this.#wholeBox(), this.camera.view())) this.#fit(false, false);
    } else if (first || !this.camera.touched) {
      this.#choose();
      this.#refresh(false);
      this.#fit(false, false);
      if (first && this.state.selected) this.select(this.state.selected, false);
    } else this.picture.see(this.camera.view(), this.camera.k);
  }

  #view() {
    return { w: this.stage.clientWidth, h: this.stage.clientHeight };
  }

  /** Whether nodes have one size in all frames: while these pass, nothing jumps. */
  #steady() {
    return this.sliding || this.data.frames?.kind === "epoch";
  }

  /** Choose how large nodes are and, unless asked, how deep to open. */
  #choose() {
    const scene = sceneOf(this.data, this.#steady() ? largestFrame(this.data) : this.at);
    const { limit, tiers } = chooseSizes(scene, { ...this.state, limit: this.asked }, this.direction, this.#view());
    this.tiers = tiers;
    if (this.asked === null) this.state.limit = limit;
  }

  #refresh(glide) {
    if (!this.ready) return;
    const scene = sceneOf(this.data, this.at);
    this.scene = scene;
    this.index = scene.index;
    this.arrangement = arrange(scene, this.state, this.tiers, this.direction);
    const { list } = this.arrangement;
    const held = this.picture.nodeLayer.contains(this.root.getRootNode().activeElement);
    const keys = new Set(list.map(({ key }) => key));
    while (!keys.has(this.state.focus)) this.state.focus = this.state.focus.slice(0, -1);
    this.look = lookOf(scene, this.state, this);
    this.picture.show(this.arrangement, this.look, glide);
    this.camera.closest = CLOSEST / this.picture.smallest;
    if (held) this.picture.element(this.state.focus)?.focus({ preventScroll: true });
    const shown = list.reduce((deepest, { level }) => Math.max(deepest, level), 0);
    this.tools.update({ index: this.index, state: this.state, matches: this.look.matches.length, shown });
    const bars = list.some(({ i, status }) => status === "split" && isSum(this.index.nodes[i]));
    fillLegend(this.legend, this.data, this.index, this.direction, { bars, apart: this.state.apart });
    this.notes.hidden = !scene.tree.notes?.length;
    this.notes.replaceChildren(...(scene.tree.notes ?? []).map((text) => html("p", { text })));
  }

  /** The box that holds all frames. */
  #wholeBox() {
    return boxOfFrames(this.data, this.state, this.tiers, this.direction);
  }

  /** Fit the tree; the reader who asks for it gets all of it, however small. */
  #fit(glide, user = true) {
    const box = !user && this.#steady() ? this.#wholeBox() : this.arrangement.box;
    const path = pathBox(this.arrangement, this.scene.on);
    const { x, y, k } = cameraOn(box, this.#view(), this.direction, !user && this.asked === null, path);
    this.camera.go(x, y, k, glide);
    this.camera.touched = false;
  }

  #levels(step) {
    const { depth } = this.index;
    const shown = this.arrangement.list.reduce((deepest, { level }) => Math.max(deepest, level), 0);
    this.asked = step === null ? depth : Math.min(depth, Math.max(1, shown + step));
    // Who wants all levels, or one more than branches have, asks for leaves of one class.
    const open = fullDepth(this.index, this.state, this.scene.forced);
    if (step === null || (step > 0 && shown >= open && shown < depth)) this.state.apart = true;
    setLimit(this.state, this.asked);
    this.#choose();
    this.#refresh(true);
    this.#fit(true);
  }

  /** Draw leaves of one class one by one, or together where they hang on one split. */
  #apart(apart) {
    this.state.apart = apart;
    // Who asks for all leaves wants no level less than before.
    if (apart) this.asked ??= this.state.limit ?? fullDepth(this.index, this.state, this.scene.forced);
    this.#choose();
    this.#refresh(true);
    this.#fit(true, false);
  }

  #rotate() {
    this.direction = this.direction === "down" ? "right" : "down";
    this.version += 1;
    this.#choose();
    this.#refresh(true);
    this.#fit(true, false);
  }

  #fold(key) {
    const i = this.index.byKey.get(key);
    if (i === undefined || !this.index.children[i].length || this.scene.forced.has(key)) return;
    const level = this.index.level[i];
    const { forced } = this.scene;
    toggleFold(this.state, key, level, forced, isAlike(this.index, this.state, i, forced));
    // The folded node stays where it is on screen; the rest makes room.
    const before = placeOf(this.arrangement, key);
    this.state.focus = key;
    this.#refresh(true);
    const after = placeOf(this.arrangement, key);
    const { camera } = this;
    camera.go(camera.x + (before.middle - after.middle) * camera.k, camera.y + (before.y - after.y) * camera.k, camera.k);
    camera.touched = true;
    if (isOpen(this.state, key, level, this.scene.forced)) this.tip.hide();
  }

  #focus(key) {
    this.state.focus = key;
    this.look = lookOf(this.scene, this.state, this);
    this.picture.restyle(this.look);
    this.picture.redraw();
    this.camera.reveal(placeOf(this.arrangement, key));
    this.picture.element(key)?.focus({ preventScroll: true });
  }

  #findNext() {
    const { matches } = this.look;
    if (!matches.length) return;
    const next = matches[(matches.indexOf(this.state.focus) + 1) % matches.length];
    reveal(this.index, this.state, next);
    this.state.unfolded.add(next); // were it drawn as a leaf, its condition could not be read
    this.state.focus = next;
    this.#refresh(true);
    this.camera.reveal(placeOf(this.arrangement, next));
  }

  /** Show a frame that others follow, or, unless it `passes`, one to stay at. */
  #move(at, glide, passes) {
    const first = !this.#steady();
    this.at = at;
    this.tip.hide();
    if (first && !passes) return this.#fill();
    this.sliding = true;
    if (first) this.#choose();
    this.#refresh(glide);
    if (first && !this.camera.touched) this.#fit(false, false);
    if (glide && this.look.changed) this.picture.glow(this.look.changed);
    return undefined;
  }

  /** A size where the reader stops fills the view, unless it was zoomed by hand. */
  #rest() {
    if (!this.sliding) return;
    this.sliding = false;
    if (!this.#steady()) this.#fill();
  }

  #fill() {
    this.#choose();
    this.#refresh(true);
    if (!this.camera.touched) this.#fit(true, false);
  }

  /** Show the details of a node, the sooner the less its card holds. */
  #tip(key, wait) {
    const k = this.arrangement.list.findIndex((one) => one.key === key);
    if (k < 0) return;
    const entry = this.arrangement.list[k];
    wait ??= this.arrangement.tiers[k] === "full" ? 900 : 350;
    this.tip.later(this.data, nodeOf(this.index, entry), entry.status,
      () => this.picture.element(key)?.getBoundingClientRect(), wait);
  }

  #hint(words) {
    this.hint.textContent = words;
    this.hint.classList.add("shown");
    clearTimeout(this.hintTimer);
    this.hintTimer = setTimeout(() => this.hint.classList.remove("shown"), 1600);
  }

  async #save(kind) {
    const { backgroundColor: ground, color: text } = getComputedStyle(this.root);
    const picture = pictureSvg(this.stage, this.data, { ...this.#view(), ground, text });
    try {
      const blob = kind === "png" ? await picturePng(picture) : new Blob([picture], { type: "image/svg+xml" });
      download(blob, fileName(this.data.title, kind));
    } catch (error) {
      this.#hint(error.message || "The picture could not be saved.");
    }
  }
}

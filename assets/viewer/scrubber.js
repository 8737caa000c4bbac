/** The scrubber: frames of a run, moved by hand or played, without leaving the page. */

import { changesPerFrame } from "./diff.js";
import { html, svg } from "./svg.js";
import { short } from "./text.js";

const PLAY = 6000; // milliseconds a whole run takes, within bounds a frame
const QUICKEST = 80;
const SLOWEST = 500;

/**
 * A scrubber over `data.frames`; `onMove(i, glide, passes)` at each step, which passes
 * unless `onRest(i)`, which is when it is let go, comes with it.
 */
export class Scrubber {
  constructor(box, { onMove, onRest }) {
    this.box = box;
    this.onMove = onMove;
    this.onRest = onRest;
    this.at = 0;
    this.frame = 0;
    this.button = html("button", { type: "button", class: "play", "aria-label": "Play", onclick: () => this.toggle() });
    this.range = html("input", {
      type: "range", min: 0, step: 1,
      oninput: () => { this.pause(); this.move(Number(this.range.value), false, this.range.matches(":active")); },
      onchange: () => this.onRest(this.at),
    });
    this.name = html("span", { class: "name", "aria-hidden": "true" });
    this.words = html("span", { class: "when", "aria-live": "off" });
    this.flags = html("div", { class: "flags" });
    this.marks = svg("svg", { class: "marks", "aria-hidden": "true", preserveAspectRatio: "none" });
    box.append(this.name, this.button, html("div", { class: "track" }, this.marks, this.range), this.words, this.flags);
    this.#icon();
  }

  /** New frames; the place stays as far as it exists. */
  set(data, at) {
    this.data = data;
    const { frames, trees } = data;
    this.box.hidden = !frames?.kind || trees.length < 2;
    if (this.box.hidden) return this.pause();
    this.range.max = trees.length - 1;
    this.range.setAttribute("aria-label", frames.name ?? frames.kind);
    this.name.textContent = frames.kind === "epoch" ? "" : frames.name;
    const marks = frames.marks ?? [];
    this.#drawMarks(changesPerFrame(trees), marks.length ? marks.map(([i]) => i) : [frames.chosen]);
    this.flags.hidden = !marks.length;
    this.#setFlags(marks.map(([i, label]) => [i, `${label}: ${frames.labels[i]}`]));
    this.show(at);
    return undefined;
  }

  /** Buttons that lead to frames; one that has the focus stays while they are the same. */
  #setFlags(flags) {
    const text = JSON.stringify(flags);
    if (text === this.flagged) return;
    this.flagged = text;
    this.flags.replaceChildren(...flags.map(([i, text]) => html("button", {
      type: "button", class: "flag", onclick: () => { this.pause(); this.move(i, false, false); this.onRest(i); }, text,
    })));
  }

  /** Move the handle and the words without an event. */
  show(at) {
    const { frames } = this.data;
    this.at = at;
    this.range.value = at;
    const label = frames.labels?.[at] ?? `${frames.name} ${short(frames.values?.[at])}`;
    const score = frames.scores?.[at];
    const text = score === null || score === undefined ? label : `${label} · ${short(score)} ${frames.score_label ?? ""}`;
    this.words.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
    [...this.flags.children].forEach((flag, k) => flag.classList.toggle("here", frames.marks[k][0] === at));
  }

  /** Go to a frame; by hand each picture is there at once, played they glide. */
  move(at, glide = true, passes = true) {
    this.show(at);
    this.onMove(at, glide, passes);
  }

  toggle() {
    if (this.frame) {
      this.pause();
      this.onRest(this.at);
      return;
    }
    const last = this.data.trees.length - 1;
    if (this.at >= last) this.move(0);
    const wait = Math.min(SLOWEST, Math.max(QUICKEST, PLAY / last));
    let due = performance.now() + wait;
    const step = (now) => {
      if (now >= due) {
        due = Math.max(due + wait, now + wait / 2);
        this.move(Math.min(last, this.at + 1));
        if (this.at >= last) {
          this.pause();
          this.onRest(this.at);
          return;
        }
      }
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
    this.#icon();
  }

  pause() {
    if (!this.frame) return;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.#icon();
  }

  destroy() {
    this.pause();
  }

  #icon() {
    const playing = Boolean(this.frame);
    this.button.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.button.replaceChildren(svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" },
      svg("path", { d: playing ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4.5 2.5v11l9-5.5z", fill: "currentColor" })));
  }

  /** A stroke a frame, as high as the number of splits that changed; a line at those marked. */
  #drawMarks(changes, marked) {
    const last = changes.length - 1;
    this.marks.setAttribute("viewBox", `0 0 ${last} 10`);
    const most = Math.max(1, ...changes);
    const parts = changes.map((n, i) => n && svg("path", { d: `M${i} 10V${10 - 2 - (8 * n) / most}`, class: "change" }));
    for (const i of marked) parts.push(svg("path", { d: `M${i} 10V0`, class: "chosen" }));
    this.marks.replaceChildren(...parts.filter(Boolean));
  }
}

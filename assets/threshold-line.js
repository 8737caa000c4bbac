// A node's rows along a number column, and the threshold as a line that is dragged.
const PAGE = 10; // stops that Page Up and Page Down move
const KEYS = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1,
  PageDown: -PAGE, PageUp: PAGE, Home: -Infinity, End: Infinity,
};
const lines = new WeakMap();

// Streamlit calls this again, with the same parent, each time the data change.
export default function ({ data, parentElement, setTriggerValue }) {
  let line = lines.get(parentElement);
  if (!line) lines.set(parentElement, (line = new ThresholdLine(parentElement)));
  line.send = (value) => setTriggerValue("threshold", value);
  line.take(new TextDecoder().decode(data)); // and it ends with its parent
}

function make(name, className, parent) {
  const element = document.createElement(name);
  element.className = className;
  parent.append(element);
  return element;
}

function makeSvg(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text != null) element.textContent = text;
  parent.append(element);
  return element;
}

class ThresholdLine {
  constructor(parent) {
    this.root = make("div", "threshold-rows", parent);
    this.plot = make("div", "plot", this.root);
    this.svg = makeSvg("svg", { width: "100%", height: "100%", role: "img" }, this.plot);
    this.pale = make("div", "pale", this.plot);
    this.value = make("div", "value", this.plot);
    this.handle = make("div", "handle", this.plot);
    make("span", "grip", this.handle);
    this.asked = []; // stops that were reported, and not answered yet
    this.title = make("div", "title", this.root);
    this.words = make("div", "words", this.root);
    this.handle.setAttribute("role", "slider");
    this.handle.setAttribute("aria-label", "Threshold");
    this.handle.addEventListener("pointerdown", (event) => this.grasp(event));
    this.handle.addEventListener("pointermove", (event) => this.drag(event));
    this.handle.addEventListener("pointerup", () => this.release());
    this.handle.addEventListener("pointercancel", () => this.giveUp());
    this.handle.addEventListener("keydown", (event) => this.press(event));
    this.handle.addEventListener("keyup", () => this.grasped == null && this.commit());
    this.handle.addEventListener("blur", () => this.commit());
  }

  take(text) {
    if (text === this.text) return;
    const before = this.data;
    this.text = text;
    this.data = JSON.parse(text);
    if (!before || !this.goesOn(before)) {
      this.grasped = null;
      this.asked = [];
      this.at = this.sent = this.data.at;
    }
    this.title.textContent = this.data.title;
    this.draw();
    this.place();
  }

  /** Whether the line stays where the visitor has it: a press or a drag may be under way. */
  goesOn(before) {
    const { at, moves, fixed } = this.data;
    const rows = ({ title, edges, stops }) => JSON.stringify([title, edges, stops.map((stop) => stop[2])]);
    if (fixed || rows(before) !== rows(this.data)) return false;
    if (moves === before.moves) return at === before.at && (this.grasped != null || this.at !== this.sent);
    const answered = this.asked.lastIndexOf(at); // of a refused move none
    this.asked.splice(0, answered + 1);
    return answered >= 0;
  }

  /** Where a value is on the axis, in percent. */
  across(value) {
    const { edges } = this.data;
    return 100 * (value - edges[0]) / (edges.at(-1) - edges[0]);
  }

  draw() {
    const { edges, groups, top, x_ticks, y_ticks, alt } = this.data;
    const up = (rows) => 100 * (1 - rows / (top * 1.04));
    this.svg.replaceChildren();
    this.svg.setAttribute("aria-label", alt);
    for (const [rows, text] of y_ticks) {
      const y = `${up(rows)}%`;
      makeSvg("line", { x1: 0, x2: "100%", y1: y, y2: y }, this.svg);
      makeSvg("text", { x: -6, y, dy: "0.35em", "text-anchor": "end" }, this.svg, text);
    }
    for (const [value, text] of x_ticks) {
      const x = `${this.across(value)}%`;
      makeSvg("text", { x, y: "100%", dy: 15, "text-anchor": "middle" }, this.svg, text);
    }
    const width = this.across(edges[1]);
    const below = edges.map(() => 0);
    for (const [name, color, counts] of groups) {
      counts.forEach((rows, bar) => {
        if (!rows) return;
        below[bar] += rows;
        const place = {
          x: `${this.across(edges[bar]) + width * 0.03}%`, width: `${width * 0.94}%`,
          y: `${up(below[bar])}%`, height: `${up(0) - up(rows)}%`, fill: color,
        };
        const rect = makeSvg("rect", place, this.svg);
        makeSvg("title", {}, rect, `${name}: ${rows.toLocaleString("en")}`);
      });
    }
  }

  /** Put the line at its stop, and say what it parts. */
  place() {
    const { stops, sign, n_rows, fades, fixed, missing } = this.data;
    const stop = stops[this.at];
    for (const part of [this.handle, this.value]) part.hidden = !stop;
    this.pale.hidden = !stop || !fades;
    const left = stop ? stop[2] : n_rows;
    const rows = `${left.toLocaleString("en")} ${left === 1 ? "row" : "rows"}`;
    this.words.textContent = `${rows} ${sign === "≤" ? "at most the threshold" : "before it"} go left, ` +
      `${(n_rows - left).toLocaleString("en")} right.${missing}`;
    if (!stop) return;
    const x = Math.max(0, Math.min(100, this.across(stop[0])));
    this.handle.style.left = this.pale.style.left = this.value.style.left = `${x}%`;
    this.value.style.translate = `-${x}%`; // inside the plot at both its ends
    this.value.textContent = `${sign} ${stop[1]}`;
    const spoken = {
      valuemin: stops[0][0], valuemax: stops.at(-1)[0], valuenow: stop[0],
      valuetext: `${stop[1]}, ${this.words.textContent}`, disabled: fixed,
    };
    for (const key in spoken) this.handle.setAttribute(`aria-${key}`, spoken[key]);
    this.handle.tabIndex = fixed ? -1 : 0;
    this.root.classList.toggle("fixed", fixed);
  }

  move(at) {
    this.at = Math.max(0, Math.min(this.data.stops.length - 1, at));
    this.place();
  }

  /** Report the stop that the line was left at, once. */
  commit() {
    if (this.at == null || this.at === this.sent) return;
    this.sent = this.at;
    this.asked.push(this.at);
    this.send(this.data.stops[this.at][0]);
  }

  grasp(event) {
    if (this.data.fixed || event.button) return;
    const { left, width } = this.handle.getBoundingClientRect();
    this.grasped = event.clientX - (left + width / 2);
    this.handle.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (this.grasped == null) return;
    const { left, width } = this.plot.getBoundingClientRect();
    const x = 100 * (event.clientX - this.grasped - left) / width;
    const far = this.data.stops.map(([value]) => Math.abs(this.across(value) - x));
    this.move(far.indexOf(Math.min(...far)));
  }

  release() {
    if (this.grasped == null) return;
    this.grasped = null;
    this.commit();
  }

  /** Back to where the line was. */
  giveUp() {
    this.grasped = null;
    if (this.sent != null) this.move(this.sent);
  }

  press(event) {
    if (this.data.fixed) return;
    if (event.key === "Escape") return this.giveUp();
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    this.move(this.at + KEYS[event.key]);
  }
}

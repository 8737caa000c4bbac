// The small tree of the point of a chart that the pointer rests on, beside the point.
const GAP = 18; // pixels between the point and the card, where the chart's label is
const EDGE = 8; // pixels that stay free at the window's edge
const cards = new WeakMap();

// Streamlit calls this again, with the same parent, each time the data change.
export default function ({ data, parentElement }) {
  let card = cards.get(parentElement);
  if (!card) cards.set(parentElement, (card = new HoverCard(parentElement)));
  card.take(new TextDecoder().decode(data));
  return () => {
    // Streamlit also ends a call that newer data overtook: the card stays.
    if (parentElement.isConnected) return;
    card.destroy();
    cards.delete(parentElement);
  };
}

class HoverCard {
  constructor(parent) {
    this.box = document.createElement("div");
    this.box.className = "beside-point";
    // In the browser's top layer nothing of the page clips it; those who cannot point
    // reach the same trees by the fields below the chart.
    this.box.popover = "manual";
    this.box.setAttribute("aria-hidden", "true");
    parent.append(this.box);
    this.heard = new WeakSet();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const hide = () => this.hide();
    document.addEventListener("pointerover", (event) => this.listen(event), { signal });
    document.addEventListener("pointerdown", hide, { signal });
    document.addEventListener("keydown", hide, { signal });
    document.addEventListener("scroll", hide, { signal, capture: true, passive: true });
  }

  take(text) {
    if (text === this.text) return;
    this.text = text;
    this.data = JSON.parse(text);
    this.hide();
  }

  /** Listen to the chart under the pointer: a changed one is mounted anew. */
  listen({ target }) {
    const chart = target.closest?.(`.st-key-${this.data.chart} .js-plotly-plot`);
    if (!chart?.on || this.heard.has(chart.on)) return;
    this.heard.add(chart.on); // plotly makes another one when it draws from nothing
    chart.on("plotly_hover", ({ points }) => this.show(chart, points));
    chart.on("plotly_unhover", () => this.hide());
  }

  show(chart, points) {
    this.hide();
    for (const { customdata, x, y, xaxis, yaxis } of points) {
      const [line, place] = Array.isArray(customdata) ? customdata : [];
      const run = this.data.lines[line];
      const tree = run?.trees[place];
      if (!tree) continue;
      const { left, top } = chart.getBoundingClientRect();
      this.box.style.width = `min(${this.data.width}px, 100vw - ${2 * EDGE}px)`;
      this.box.showPopover();
      const root = document.createElement("div");
      this.box.append(root);
      const options = { compact: true, controls: false, height: this.data.height };
      this.view = treelabViewer.mount(root, { data: { ...run, trees: [tree], options } });
      this.put(left + xaxis._offset + xaxis.d2p(x), top + yaxis._offset + yaxis.d2p(y));
      return;
    }
  }

  /** Place the card above the point, or where there is room. */
  put(x, y) {
    const { offsetWidth: w, offsetHeight: h } = this.box;
    const within = (at, size, room) => Math.max(EDGE, Math.min(at, room - size - EDGE));
    const across = within(x - w / 2, w, innerWidth);
    const places = [
      [across, y - h - GAP],
      [across, y + GAP],
      [x + GAP, within(y - h / 2, h, innerHeight)],
      [x - w - GAP, within(y - h / 2, h, innerHeight)],
    ];
    const fits = ([left, top]) => left >= EDGE && top >= EDGE &&
      left + w <= innerWidth - EDGE && top + h <= innerHeight - EDGE;
    const [left, top] = places.find(fits) ?? [across, within(places[0][1], h, innerHeight)];
    this.box.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
  }

  hide() {
    this.view?.destroy();
    this.view = null;
    this.box.replaceChildren();
    if (this.box.matches(":popover-open")) this.box.hidePopover();
  }

  destroy() {
    this.stop.abort();
    this.hide();
    this.box.remove();
  }
}

/** Zoom, pan and fit: wheel, drag, pinch and buttons move one transform. */

export const CLOSEST = 4; // zoom at which type is as large as anybody needs
const FARTHEST = 0.02;

/** A camera over a picture; `apply` puts its transform on screen. */
export class Camera {
  constructor(stage, { apply, reduced, onTouch, onHint }) {
    this.stage = stage;
    this.apply = apply;
    this.reduced = reduced;
    this.onTouch = onTouch;
    this.onHint = onHint;
    this.x = 0;
    this.y = 0;
    this.k = 1;
    this.closest = CLOSEST;
    this.touched = false;
    this.moved = false;
    this.pointers = new Map();
    this.frame = 0;
    this.abort = new AbortController();
    const on = (name, act, options) =>
      stage.addEventListener(name, act, { signal: this.abort.signal, ...options });
    on("wheel", (event) => this.#wheel(event), { passive: false });
    on("pointerdown", (event) => this.#down(event));
    on("pointermove", (event) => this.#drag(event));
    for (const name of ["pointerup", "pointercancel"]) on(name, (event) => this.#up(event));
    on("pointerleave", () => { this.held = this.pointers.size > 0; });
  }

  destroy() {
    this.abort.abort();
    cancelAnimationFrame(this.frame);
  }

  /** Go to a place, gliding unless asked not to. */
  go(x, y, k, glide = true) {
    cancelAnimationFrame(this.frame);
    const from = { x: this.x, y: this.y, k: this.k };
    if (!glide || this.reduced()) return this.#set(x, y, k);
    const start = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - start) / 250));
      const e = 1 - (1 - t) ** 3;
      this.#set(from.x + (x - from.x) * e, from.y + (y - from.y) * e, from.k * (k / from.k) ** e);
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
    return undefined;
  }

  /** Zoom by a factor about a point of the stage, its middle by default. */
  zoomBy(factor, px = this.stage.clientWidth / 2, py = this.stage.clientHeight / 2, glide = false) {
    const k = Math.min(this.closest, Math.max(FARTHEST, this.k * factor));
    const x = px - ((px - this.x) * k) / this.k;
    const y = py - ((py - this.y) * k) / this.k;
    this.#touch();
    this.go(x, y, k, glide);
  }

  /** Move by pixels. */
  panBy(dx, dy, glide = false) {
    this.#touch();
    this.go(this.x + dx, this.y + dy, this.k, glide);
  }

  /** Bring a box of the picture into view, moving no farther than needed. */
  reveal(box, glide = true) {
    const margin = 24;
    const need = (low, high, room) => {
      if (high - low > room - 2 * margin) return margin - low;
      if (low < margin) return margin - low;
      return high > room - margin ? room - margin - high : 0;
    };
    const left = this.x + box.x * this.k;
    const top = this.y + box.y * this.k;
    const dx = need(left, left + box.w * this.k, this.stage.clientWidth);
    const dy = need(top, top + box.h * this.k, this.stage.clientHeight);
    if (dx || dy) {
      this.#touch();
      this.go(this.x + dx, this.y + dy, this.k, glide);
    }
  }

  /** The part of the picture in view. */
  view() {
    const { clientWidth: w, clientHeight: h } = this.stage;
    return { x: -this.x / this.k, y: -this.y / this.k, w: w / this.k, h: h / this.k };
  }

  #set(x, y, k) {
    this.x = x;
    this.y = y;
    this.k = k;
    this.apply(x, y, k);
  }

  #touch() {
    this.touched = true;
    this.onTouch?.();
  }

  #point(event) {
    const box = this.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #wheel(event) {
    // The page keeps its wheel until the reader has taken hold of the picture.
    if (!event.ctrlKey && !event.metaKey && !this.held) {
      this.onHint?.();
      return;
    }
    event.preventDefault();
    const { x, y } = this.#point(event);
    const unit = event.deltaMode === 1 ? 20 : 1;
    const speed = event.ctrlKey ? 0.01 : 0.0018;
    const amount = Math.max(-160, Math.min(160, event.deltaY * unit));
    this.zoomBy(Math.exp(-amount * speed), x, y);
  }

  #down(event) {
    if (event.button > 0) return;
    this.pointers.set(event.pointerId, this.#point(event));
    this.held = true;
    if (this.pointers.size === 1) {
      this.moved = false;
      this.from = this.#point(event);
    }
  }

  #drag(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const point = this.#point(event);
    if (this.pointers.size === 2) this.#pinch(event.pointerId, point);
    else {
      if (!this.moved && Math.hypot(point.x - this.from.x, point.y - this.from.y) < 4) return;
      if (!this.moved) {
        this.moved = true;
        this.stage.setPointerCapture(event.pointerId);
        this.stage.classList.add("dragging");
      }
      this.panBy(point.x - last.x, point.y - last.y);
    }
    this.pointers.set(event.pointerId, point);
  }

  #pinch(id, point) {
    this.moved = true;
    const last = this.pointers.get(id);
    const [other] = [...this.pointers].filter(([key]) => key !== id).map(([, p]) => p);
    const before = Math.hypot(last.x - other.x, last.y - other.y);
    const after = Math.hypot(point.x - other.x, point.y - other.y);
    const factor = after / Math.max(1, before);
    // What lay midway between the fingers stays midway between them.
    this.zoomBy(factor, other.x, other.y);
    this.panBy((point.x - other.x - (last.x - other.x) * factor) / 2, (point.y - other.y - (last.y - other.y) * factor) / 2);
  }

  #up(event) {
    this.pointers.delete(event.pointerId);
    if (!this.pointers.size) this.stage.classList.remove("dragging");
  }
}

/** What the pointer does to the picture: click, hover, touch. */

const CLICK = 50; // milliseconds after a release in which its click comes

/** A press under way in an element: what is drawn anew under it would lose its click. */
export class Press {
  constructor(root, onEnd) {
    this.isHeld = false;
    const hold = (event) => {
      if (event.button || event.target.closest("select")) return; // its list is the browser's
      this.isHeld = true;
      const ended = new AbortController();
      const end = ({ type, buttons }) => {
        if (type === "pointermove" && buttons) return;
        ended.abort();
        setTimeout(() => { this.isHeld = false; onEnd(); }, CLICK);
      };
      for (const name of ["pointerup", "pointercancel", "pointermove"]) {
        window.addEventListener(name, end, { signal: ended.signal, capture: true });
      }
    };
    root.addEventListener("pointerdown", hold, { capture: true });
  }
}

/**
 * Listen to the pointer on a stage.
 *
 * @param {SVGElement} stage
 * @param {HTMLElement} root  the whole viewer; a press on it closes open menus
 * @param {{busy: () => boolean, dragged: () => boolean, fold: (key: string) => void,
 *   select: (key: ?string) => void, showTip: (key: string, wait?: number) => void,
 *   hideTip: () => void, focus: (key: string) => void}} actions
 */
export function listenToPointer(stage, root, actions) {
  const keyOf = (event) => event.target.closest?.("[data-key]")?.dataset.key;
  stage.addEventListener("click", (event) => {
    if (actions.dragged()) return;
    const fold = event.target.closest("[data-fold]");
    const key = keyOf(event);
    if (fold) actions.fold(fold.dataset.fold);
    else actions.select(key ?? null);
    if (event.pointerType !== "touch") actions.hideTip();
    else if (key !== undefined) actions.showTip(key, 0);
  });
  stage.addEventListener("pointerover", (event) => {
    const key = keyOf(event);
    if (key === undefined || actions.busy() || event.pointerType === "touch") actions.hideTip();
    else actions.showTip(key);
  });
  stage.addEventListener("pointerleave", actions.hideTip);
  stage.addEventListener("focusin", (event) => {
    const key = keyOf(event);
    if (key === undefined) return;
    actions.focus(key);
    if (event.target.matches(":focus-visible")) actions.showTip(key, 400);
  });
  stage.addEventListener("focusout", actions.hideTip);
  root.addEventListener("pointerdown", (event) => {
    for (const menu of root.querySelectorAll("details[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
}

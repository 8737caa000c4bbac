/** What the pointer does to the picture: click, hover, touch. */

/**
 * Listen to the pointer on a stage.
 *
 * @param {SVGElement} stage
 * @param {HTMLElement} root  the whole viewer; a press on it closes open menus
 * @param {{busy: () => boolean, dragged: () => boolean, fold: (key: string) => void,
 *   select: (key: ?string) => void, tell: (key: string, wait?: number) => void,
 *   quiet: () => void, focus: (key: string) => void}} acts  `tell` says more of a node,
 *   `quiet` stops that
 */
export function listenToPointer(stage, root, acts) {
  const keyOf = (event) => event.target.closest?.("[data-key]")?.dataset.key;
  stage.addEventListener("click", (event) => {
    if (acts.dragged()) return;
    const fold = event.target.closest("[data-fold]");
    const key = keyOf(event);
    if (fold) acts.fold(fold.dataset.fold);
    else acts.select(key ?? null);
    if (event.pointerType !== "touch") acts.quiet();
    else if (key !== undefined) acts.tell(key, 0);
  });
  stage.addEventListener("pointerover", (event) => {
    const key = keyOf(event);
    if (key === undefined || acts.busy() || event.pointerType === "touch") acts.quiet();
    else acts.tell(key);
  });
  stage.addEventListener("pointerleave", acts.quiet);
  stage.addEventListener("focusin", (event) => {
    const key = keyOf(event);
    if (key === undefined) return;
    acts.focus(key);
    if (event.target.matches(":focus-visible")) acts.tell(key, 400);
  });
  stage.addEventListener("focusout", acts.quiet);
  root.addEventListener("pointerdown", (event) => {
    for (const menu of root.querySelectorAll("details[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
}

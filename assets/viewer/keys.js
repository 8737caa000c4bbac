/** The keyboard: arrows walk the tree, Enter selects, Space folds, Esc clears. */

import { neighbour } from "./model.js";

const DOWN = { ArrowUp: "parent", ArrowDown: "child", ArrowLeft: "before", ArrowRight: "after" };
const RIGHT = { ArrowLeft: "parent", ArrowRight: "child", ArrowUp: "before", ArrowDown: "after" };

/**
 * Listen to the keys of a focused node.
 *
 * @param {Element} stage
 * @param {{list: () => object[], focus: () => string, direction: () => string,
 *   go: (key: string) => void, select: (key: ?string) => void,
 *   fold: (key: string) => void, zoom: (factor: number) => void, fit: () => void}} actions
 * @returns {() => void}  stops listening
 */
export function listenToKeys(stage, actions) {
  const onKey = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const moves = actions.direction() === "right" ? RIGHT : DOWN;
    const { key } = event;
    if (moves[key]) actions.go(neighbour(actions.list(), actions.focus(), moves[key]));
    else if (key === "Home") actions.go(neighbour(actions.list(), actions.focus(), "first"));
    else if (key === "Enter") actions.select(actions.focus());
    else if (key === " ") actions.fold(actions.focus());
    else if (key === "Escape") actions.select(null);
    else if (key === "+" || key === "=") actions.zoom(1.25);
    else if (key === "-") actions.zoom(0.8);
    else if (key === "0") actions.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  stage.addEventListener("keydown", onKey);
  return () => stage.removeEventListener("keydown", onKey);
}

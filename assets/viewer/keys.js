/** The keyboard: arrows walk the tree, Enter selects, Space folds, Esc clears. */

import { neighbour } from "./model.js";

const DOWN = { ArrowUp: "parent", ArrowDown: "child", ArrowLeft: "before", ArrowRight: "after" };
const RIGHT = { ArrowLeft: "parent", ArrowRight: "child", ArrowUp: "before", ArrowDown: "after" };

/**
 * Answer the keys of a focused node.
 *
 * @param {Element} stage
 * @param {{list: () => object[], focus: () => string, direction: () => string,
 *   go: (key: string) => void, select: (key: ?string) => void,
 *   fold: (key: string) => void, zoom: (factor: number) => void, fit: () => void}} acts
 * @returns {() => void}  stops listening
 */
export function listenToKeys(stage, acts) {
  const answer = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const ways = acts.direction() === "right" ? RIGHT : DOWN;
    const { key } = event;
    if (ways[key]) acts.go(neighbour(acts.list(), acts.focus(), ways[key]));
    else if (key === "Home") acts.go(neighbour(acts.list(), acts.focus(), "first"));
    else if (key === "Enter") acts.select(acts.focus());
    else if (key === " ") acts.fold(acts.focus());
    else if (key === "Escape") acts.select(null);
    else if (key === "+" || key === "=") acts.zoom(1.25);
    else if (key === "-") acts.zoom(0.8);
    else if (key === "0") acts.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  stage.addEventListener("keydown", answer);
  return () => stage.removeEventListener("keydown", answer);
}

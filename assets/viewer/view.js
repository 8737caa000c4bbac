/** How a tree is drawn: marks, notes, fades, from payload and state. */

import { flowOf } from "./color.js";
import { changedSplits } from "./diff.js";
import { findColumn, indexTree, pathKeys } from "./model.js";

const indexes = new WeakMap();

/** Lookups over a tree, made once. */
export function indexOf(tree) {
  if (!indexes.has(tree)) indexes.set(tree, indexTree(tree));
  return indexes.get(tree);
}

/** The frame a payload opens at. */
export function firstFrame(data) {
  const last = data.trees.length - 1;
  return Math.min(last, Math.max(0, data.frames?.chosen ?? last));
}

/** The frame with the most nodes: sizes chosen for it do for all. */
export function largestFrame(data) {
  let best = 0;
  data.trees.forEach((tree, i) => {
    if (tree.nodes.length > data.trees[best].nodes.length) best = i;
  });
  return best;
}

/** A tree with the rows that are followed through it, in the frame they were asked for only. */
export function sceneOf(data, at) {
  const tree = data.trees[at];
  const ofPaths = data.frame ?? firstFrame(data);
  const paths = at === ofPaths || data.trees.length === 1 ? (data.paths ?? []) : [];
  const { forced, on, fork } = pathKeys(paths);
  const notes = new Map();
  const addNote = (key, note) => notes.set(key, [...(notes.get(key) ?? []), note]);
  for (const { values, color } of paths) {
    for (const [key, text] of Object.entries(values ?? {})) addNote(key, { text, color });
  }
  if (fork !== null) addNote(fork, { text: "the paths part here", color: "var(--muted)" });
  return { data, tree, index: indexOf(tree), forced, on, fork, notes, paths };
}

/** Marks on nodes and edges for the picture. */
export function lookOf(scene, state, { at, direction, version }) {
  const { data, index, on, paths } = scene;
  const matches = findColumn(index, data.axis, state.find);
  const found = new Set(matches);
  const flow = data.flow ?? null;
  const faded = (key) => {
    if (state.find.trim()) return !found.has(key);
    if (paths.length) return !on.has(key);
    return Boolean(flow) && !flowOf(data, index.nodes[index.byKey.get(key)])?.rows;
  };
  // Of sizes, what differs is marked once the visitor moves: the tree that is shown
  // first stands for itself.
  const moved = data.frames?.kind === "epoch" || at !== firstFrame(data);
  const compared = data.frames?.kind && at > 0 && moved ? data.trees[at - 1] : null;
  const target = data.target?.name ?? "";
  return {
    data, index, direction, version, on, flow, found, matches, faded,
    colors: paths.map(({ color }) => color),
    changed: compared ? changedSplits(compared, scene.tree) : data.marked ? new Set(data.marked) : null,
    selected: state.selected,
    focus: state.focus,
    label: `${data.title ?? "Decision tree"}${target ? `, predicting ${target}` : ""}`,
  };
}

/** What is open, filtered, found and selected: plain data, no picture. */

/** Lookups over one tree of the payload. */
export function indexTree(tree) {
  const { nodes, faces = nodes } = tree;
  const byKey = new Map(nodes.map((node, i) => [node.key, i]));
  const children = nodes.map(() => []);
  const level = nodes.map(() => 0);
  nodes.forEach((node, i) => {
    if (node.parent < 0) return;
    level[i] = level[node.parent] + 1;
    children[node.parent].push(i);
  });
  // Left first, whatever the order in which they came.
  for (const pair of children) pair.sort((a, b) => (nodes[a].key < nodes[b].key ? -1 : 1));
  // Of a large tree some branches are only counted.
  const below = nodes.map((node) => node.hidden ?? 0);
  for (let i = nodes.length - 1; i > 0; i -= 1) below[nodes[i].parent] += below[i] + 1;
  const depth = level.reduce((a, b) => Math.max(a, b), 0);
  const alike = sameClass(nodes, children);
  return { nodes, faces, byKey, children, level, below, depth, alike };
}

/** Nodes that look alike in several trees become one, in `faces`: what stays need not be drawn anew. */
export function shareFaces(trees) {
  const known = new Map();
  for (const tree of trees) {
    tree.faces = tree.nodes.map((node) => {
      const face = JSON.stringify({ ...node, id: 0, parent: 0 });
      if (!known.has(face)) known.set(face, node);
      return known.get(face);
    });
  }
}

/** For each split below the root whose leaves predict one class, the leaf that it amounts to. */
function sameClass(nodes, children) {
  const alike = nodes.map(() => null);
  for (let i = nodes.length - 1; i > 0; i -= 1) {
    const pair = children[i].map((child) => (children[child].length ? alike[child] : nodes[child]));
    if (!pair.length || pair.some((leaf) => !leaf?.shares?.length || leaf.hidden)) continue;
    const [{ prediction, class: place }] = pair;
    if (pair.some((leaf) => leaf.prediction !== prediction || leaf.class !== place)) continue;
    const mass = (leaf) => leaf.weight ?? leaf.rows;
    const all = pair.reduce((sum, leaf) => sum + mass(leaf), 0);
    const confidence = pair.reduce((sum, leaf) => sum + leaf.confidence * (all ? mass(leaf) / all : 1 / pair.length), 0);
    const { condition, hist, weights, missing, left_categories, gain, likeliest, ...facts } = nodes[i];
    alike[i] = { ...facts, prediction, class: place, confidence };
  }
  return alike;
}

/** Leaves of the branch below a node. */
export function leavesBelow(index, i) {
  return index.below[i] / 2 + 1; // each split has two children
}

/** Whether the branch below a split is drawn as the one leaf that it amounts to. */
export function isAlike(index, state, i, forced) {
  const { key } = index.nodes[i];
  return Boolean(index.alike[i]) && !state.apart && !forced?.has(key) && !state.unfolded.has(key);
}

/** The node that an entry of the list of visible nodes draws. */
export function nodeOf(index, { i, status }) {
  return status === "alike" ? index.alike[i] : index.faces[i];
}

/** The deepest level that is drawn where nothing is folded; leaves of one class may be one. */
export function fullDepth(index, state, forced) {
  const open = { ...createState(), apart: state.apart, unfolded: state.unfolded };
  return visibleNodes(index, open, forced).reduce((deepest, { level }) => Math.max(deepest, level), 0);
}

/** The state a viewer starts with. */
export function createState(options = {}) {
  return {
    limit: options.depth ?? null,
    folded: new Set(),
    unfolded: new Set(),
    filter: { share: 0, prediction: null, confidence: 0 },
    find: "",
    selected: options.selected ?? null,
    focus: "",
    apart: Boolean(options.leaves_apart),
  };
}

/** Whether any filter is set. */
export function isFiltered({ filter }) {
  return filter.share > 0 || filter.prediction !== null || filter.confidence > 0;
}

/** For each node, whether a leaf below it (or it, if a leaf) passes the filter. */
export function passingNodes(index, filter) {
  const { nodes, children } = index;
  const passes = nodes.map(() => false);
  for (let i = nodes.length - 1; i >= 0; i -= 1) {
    const node = nodes[i];
    if (children[i].length) passes[i] = children[i].some((child) => passes[child]);
    else {
      passes[i] =
        (node.share ?? 0) >= filter.share &&
        (filter.prediction === null || node.prediction === filter.prediction) &&
        (filter.confidence <= 0 || (node.confidence ?? 0) >= filter.confidence);
    }
  }
  return passes;
}

/** Whether a split node shows its children. `forced` keys always do. */
export function isOpen(state, key, level, forced) {
  if (forced?.has(key)) return true;
  if (state.folded.has(key)) return false;
  return state.limit === null || level < state.limit || state.unfolded.has(key);
}

/**
 * Nodes to draw, parents first, left before right.
 *
 * @returns {{i: number, key: string, parent: number, level: number,
 *   status: "split" | "leaf" | "alike" | "folded" | "ghost"}[]}  `i` indexes the tree's
 *   nodes, `parent` this list; "alike" is a branch whose leaves predict one class, a
 *   ghost stands for a branch the filter left out
 */
export function visibleNodes(index, state, forced) {
  const passes = isFiltered(state) ? passingNodes(index, state.filter) : null;
  const list = [];
  const add = (i, parent) => {
    const key = index.nodes[i].key;
    const level = index.level[i];
    let status = "leaf";
    if (passes && !passes[i] && i !== 0) status = "ghost";
    else if (index.children[i].length) {
      if (isAlike(index, state, i, forced)) status = "alike";
      else status = isOpen(state, key, level, forced) ? "split" : "folded";
    } else if (index.nodes[i].hidden) status = "folded";
    list.push({ i, key, parent, level, status });
  };
  add(0, -1);
  for (let k = 0; k < list.length; k += 1) {
    if (list[k].status !== "split") continue;
    for (const child of index.children[list[k].i]) add(child, k);
  }
  return list;
}

/** Fold an open split; open a folded one, or one drawn as a leaf. */
export function toggleFold(state, key, level, forced, alike = false) {
  if (!alike && isOpen(state, key, level, forced)) {
    state.folded.add(key);
    state.unfolded.delete(key);
  } else {
    state.folded.delete(key);
    state.unfolded.add(key);
  }
}

/** Open everything above a node, so that it can be seen. */
export function reveal(index, state, key) {
  let i = index.byKey.get(key);
  if (i === undefined) return false;
  while (index.nodes[i].parent >= 0) {
    i = index.nodes[i].parent;
    const above = index.nodes[i].key;
    state.folded.delete(above);
    const isDeep = state.limit !== null && index.level[i] >= state.limit;
    if (isDeep || isAlike(index, state, i)) state.unfolded.add(above);
  }
  return true;
}

/** A new depth limit; single folds made before are forgotten. */
export function setLimit(state, limit) {
  state.limit = limit;
  state.folded.clear();
  state.unfolded.clear();
}

/** Keys of the splits on a column whose name contains `words`. */
export function findColumn(index, axis, words) {
  const wanted = words.trim().toLocaleLowerCase();
  if (!wanted) return [];
  const found = [];
  for (const node of index.nodes) {
    const names = [];
    if (node.column !== null && node.column !== undefined) names.push(axis?.[node.column]?.name);
    // A last entry without a weight stands for all the lighter columns.
    for (const [name, weight] of node.weights ?? []) if (weight !== null) names.push(name);
    if (names.some((name) => String(name ?? "").toLocaleLowerCase().includes(wanted))) {
      found.push(node.key);
    }
  }
  return found;
}

/**
 * The node an arrow leads to, among the visible ones; the same node where there is none.
 *
 * @param {"parent" | "child" | "before" | "after" | "first"} step  before and after stay
 *   on the level and pass from one branch to the next
 */
export function neighbour(list, key, step) {
  const at = list.findIndex((entry) => entry.key === key);
  if (at < 0 || step === "first") return list[0].key;
  const entry = list[at];
  if (step === "parent") return entry.parent >= 0 ? list[entry.parent].key : key;
  if (step === "child") return list.find((other) => other.parent === at)?.key ?? key;
  const by = step === "after" ? 1 : -1; // the list runs level by level, left to right
  const next = list[at + by];
  return next && next.level === entry.level ? next.key : key;
}

/** What leaves predict, in order of their share of rows. */
export function leafPredictions(index) {
  const rows = new Map();
  index.nodes.forEach((node, i) => {
    if (index.children[i].length || (node.prediction ?? null) === null) return;
    rows.set(node.prediction, (rows.get(node.prediction) ?? 0) + node.rows);
  });
  return [...rows.entries()].sort((a, b) => b[1] - a[1]).map(([prediction]) => prediction);
}

/** Keys that followed paths hold open, and the last node that two of them share. */
export function pathKeys(paths) {
  const forced = new Set();
  const on = new Map();
  (paths ?? []).forEach((path, p) => {
    path.keys.forEach((key, k) => {
      if (k < path.keys.length - 1) forced.add(key);
      if (!on.has(key)) on.set(key, []);
      on.get(key).push(p);
    });
  });
  let fork = null;
  if (paths?.length === 2) {
    const [a, b] = paths.map((path) => path.keys);
    for (let k = 0; k < Math.min(a.length, b.length) && a[k] === b[k]; k += 1) fork = a[k];
    if (a.length === b.length && a[a.length - 1] === b[b.length - 1]) fork = null;
  }
  return { forced, on, fork };
}

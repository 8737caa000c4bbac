/** What changed between two pictures of a tree, node by node. */

/**
 * @param {{nodes: {key: string, condition: ?string}[]} | null} before
 * @param {{nodes: {key: string, condition: ?string}[]}} after
 * @returns {{changed: Set<string>, appeared: Set<string>, gone: Set<string>,
 *   same: Set<string>}}  keys; `changed` has another condition, or became or ceased to be a split
 */
export function diffTrees(before, after) {
  const result = { changed: new Set(), appeared: new Set(), gone: new Set(), same: new Set() };
  const old = new Map((before?.nodes ?? []).map((node) => [node.key, node]));
  for (const node of after.nodes) {
    const was = old.get(node.key);
    if (!was) result.appeared.add(node.key);
    else if ((was.condition ?? null) !== (node.condition ?? null)) result.changed.add(node.key);
    else result.same.add(node.key);
    old.delete(node.key);
  }
  for (const key of old.keys()) result.gone.add(key);
  return result;
}

function isSplit(node) {
  return node.condition !== null && node.condition !== undefined;
}

/** Splits of `after` that are new or have another condition: what a picture should mark. */
export function changedSplits(before, after) {
  const { changed, appeared } = diffTrees(before, after);
  const keys = new Set();
  for (const node of after.nodes) {
    if (isSplit(node) && (changed.has(node.key) || appeared.has(node.key))) {
      keys.add(node.key);
    }
  }
  return keys;
}

/** For each frame, how many splits differ from the frame before; 0 for the first. */
export function changesPerFrame(trees) {
  return trees.map((tree, i) => {
    if (i === 0) return 0;
    const { changed, appeared, gone } = diffTrees(trees[i - 1], tree);
    const was = new Map(trees[i - 1].nodes.map((node) => [node.key, node]));
    const is = new Map(tree.nodes.map((node) => [node.key, node]));
    let n = changed.size;
    for (const key of appeared) if (isSplit(is.get(key))) n += 1;
    for (const key of gone) if (isSplit(was.get(key))) n += 1;
    return n;
  });
}

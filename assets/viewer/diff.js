/** What changed between two pictures of a tree, node by node. */

/**
 * @param {{nodes: {key: string, question: ?string}[]} | null} before
 * @param {{nodes: {key: string, question: ?string}[]}} after
 * @returns {{changed: Set<string>, appeared: Set<string>, gone: Set<string>,
 *   same: Set<string>}}  keys; `changed` asks another question, or stopped or began to ask
 */
export function diffTrees(before, after) {
  const result = { changed: new Set(), appeared: new Set(), gone: new Set(), same: new Set() };
  const old = new Map((before?.nodes ?? []).map((node) => [node.key, node]));
  for (const node of after.nodes) {
    const was = old.get(node.key);
    if (!was) result.appeared.add(node.key);
    else if ((was.question ?? null) !== (node.question ?? null)) result.changed.add(node.key);
    else result.same.add(node.key);
    old.delete(node.key);
  }
  for (const key of old.keys()) result.gone.add(key);
  return result;
}

function asks(node) {
  return node.question !== null && node.question !== undefined;
}

/** Splits of `after` that are new or ask something else: what a picture should mark. */
export function changedSplits(before, after) {
  const { changed, appeared } = diffTrees(before, after);
  const keys = new Set();
  for (const node of after.nodes) {
    if (asks(node) && (changed.has(node.key) || appeared.has(node.key))) {
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
    for (const key of appeared) if (asks(is.get(key))) n += 1;
    for (const key of gone) if (asks(was.get(key))) n += 1;
    return n;
  });
}

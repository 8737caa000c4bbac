import assert from "node:assert/strict";
import { test } from "node:test";
import { changedSplits, changesPerFrame, diffTrees } from "../../assets/viewer/diff.js";

const tree = (conditions) => ({
  nodes: Object.entries(conditions).map(([key, condition]) => ({ key, condition })),
});
const before = tree({ "": "a ≤ 1", 0: null, 1: "b ≤ 2", 10: null, 11: null });

test("a tree does not differ from itself", () => {
  const { changed, appeared, gone, same } = diffTrees(before, before);
  assert.deepEqual([changed.size, appeared.size, gone.size, same.size], [0, 0, 0, 5]);
  assert.equal(changedSplits(before, before).size, 0);
});

test("a new condition, a new branch and a lost branch are told apart", () => {
  const after = tree({ "": "a ≤ 1.5", 0: "c ≤ 0", "00": null, "01": null, 1: null });
  const { changed, appeared, gone, same } = diffTrees(before, after);
  assert.deepEqual([...changed].sort(), ["", "0", "1"]);
  assert.deepEqual([...appeared], ["00", "01"]);
  assert.deepEqual([...gone], ["10", "11"]);
  assert.equal(same.size, 0);
});

test("only nodes that ask are marked as changed splits", () => {
  const after = tree({ "": "a ≤ 1", 0: "c ≤ 0", "00": null, "01": null, 1: null });
  assert.deepEqual([...changedSplits(before, after)], ["0"]);
});

test("a leaf that leaves its condition out is a leaf", () => {
  const bare = { nodes: before.nodes.map((node) => (node.condition ? node : { key: node.key })) };
  assert.equal(diffTrees(before, bare).changed.size, 0);
  assert.deepEqual([...changedSplits(null, bare)].sort(), ["", "1"]);
});

test("without a tree before, everything appeared", () => {
  const { appeared, changed } = diffTrees(null, before);
  assert.deepEqual([appeared.size, changed.size], [5, 0]);
});

test("changes are counted for each frame: splits that changed, came or went", () => {
  const small = tree({ "": null });
  const other = tree({ "": "a ≤ 9", 0: null, 1: "b ≤ 2", 10: null, 11: null });
  assert.deepEqual(changesPerFrame([small, before, before, other, small]), [0, 2, 0, 1, 2]);
});

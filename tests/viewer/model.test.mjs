import assert from "node:assert/strict";
import { test } from "node:test";
import { flowOf } from "../../assets/viewer/color.js";
import {
  createState, findColumn, fullDepth, indexTree, isAlike, isFiltered, leafPredictions, leavesBelow, neighbour,
  nodeOf, passingNodes, pathKeys, reveal, setLimit, toggleFold, visibleNodes,
} from "../../assets/viewer/model.js";

/** A complete tree of one depth; leaves predict in turn "a" and "b". */
function complete(depth) {
  const nodes = [];
  const queue = [["", -1]];
  while (queue.length) {
    const [key, parent] = queue.shift();
    const leaf = key.length === depth;
    const at = nodes.length;
    nodes.push({
      key, parent, condition: leaf ? null : `x${key.length} ≤ 1`, column: leaf ? null : key.length,
      rows: 2 ** (depth - key.length), share: 2 ** -key.length,
      prediction: key.endsWith("1") ? "b" : "a", confidence: key.endsWith("11") ? 0.9 : 0.6,
    });
    if (!leaf) queue.push([`${key}0`, at], [`${key}1`, at]);
  }
  return indexTree({ nodes });
}
const keys = (list) => list.map(({ key }) => key);
const statusOf = (list, key) => list.find((entry) => entry.key === key)?.status;

test("everything is open where nothing is limited", () => {
  const index = complete(3);
  const list = visibleNodes(index, createState());
  assert.equal(list.length, 15);
  assert.equal(list.filter(({ status }) => status === "leaf").length, 8);
  list.forEach(({ parent }, k) => assert.ok(parent < k));
});

test("a depth limit folds the nodes at it and counts what they hide", () => {
  const index = complete(4);
  const list = visibleNodes(index, createState({ depth: 2 }));
  assert.deepEqual(keys(list), ["", "0", "1", "00", "01", "10", "11"]);
  assert.equal(statusOf(list, "00"), "folded");
  assert.equal(index.below[index.byKey.get("00")], 6);
});

test("folding twice brings back what was seen, above and below the limit", () => {
  const index = complete(4);
  for (const [key, level] of [["0", 1], ["01", 2]]) {
    const state = createState({ depth: 2 });
    const before = keys(visibleNodes(index, state));
    toggleFold(state, key, level);
    assert.notDeepEqual(keys(visibleNodes(index, state)), before);
    toggleFold(state, key, level);
    assert.deepEqual(keys(visibleNodes(index, state)), before);
  }
});

test("a new limit forgets single folds", () => {
  const index = complete(4);
  const state = createState({ depth: 2 });
  toggleFold(state, "0", 1);
  setLimit(state, 3);
  assert.equal(visibleNodes(index, state).length, 15);
});

test("revealing a node opens exactly what is above it", () => {
  const index = complete(4);
  const state = createState({ depth: 1 });
  assert.equal(reveal(index, state, "0110"), true);
  const list = visibleNodes(index, state);
  assert.ok(keys(list).includes("0110"));
  assert.equal(statusOf(list, "00"), "folded");
  assert.equal(reveal(index, state, "99"), false);
});

test("a filter keeps the paths to leaves that pass and folds the rest into ghosts", () => {
  const index = complete(3);
  const state = createState();
  assert.equal(isFiltered(state), false);
  state.filter = { share: 0, prediction: "b", confidence: 0.8 };
  assert.equal(isFiltered(state), true);
  const kept = passingNodes(index, state.filter);
  assert.deepEqual(
    keys(index.nodes.filter((_, i) => kept[i])), ["", "0", "1", "01", "11", "011", "111"],
  );
  const list = visibleNodes(index, state);
  assert.equal(statusOf(list, "00"), "ghost");
  assert.equal(list.filter(({ status }) => status === "leaf").length, 2);
});

test("the root stays even when no leaf passes", () => {
  const state = createState();
  state.filter = { share: 0.9, prediction: null, confidence: 0 };
  const list = visibleNodes(complete(2), state);
  assert.equal(list[0].status, "split");
  assert.deepEqual(list.slice(1).map(({ status }) => status), ["ghost", "ghost"]);
});

test("followed paths stay open through limit and folds", () => {
  const index = complete(4);
  const state = createState({ depth: 1 });
  state.folded.add("0");
  const { forced } = pathKeys([{ keys: ["", "0", "01", "010", "0101"] }]);
  assert.ok(keys(visibleNodes(index, state, forced)).includes("0101"));
});

test("two paths part at the last node they share; equal paths part nowhere", () => {
  const one = { keys: ["", "0", "01"] };
  const two = { keys: ["", "0", "00"] };
  assert.equal(pathKeys([one, two]).fork, "0");
  assert.equal(pathKeys([one, one]).fork, null);
  assert.equal(pathKeys([one]).fork, null);
  assert.deepEqual(pathKeys([one, two]).on.get("0"), [0, 1]);
  assert.equal(pathKeys(null).forced.size, 0);
});

test("columns are found by part of their name, also within weighted sums", () => {
  const index = complete(2);
  index.nodes[1].column = null;
  index.nodes[1].weights = [["Body Mass", 1, 0.5], ["age", 1, 0.5]];
  const axis = { 0: { name: "Petal width" }, 1: { name: "AGE" } };
  assert.deepEqual(findColumn(index, axis, "age"), ["0", "1"]);
  assert.deepEqual(findColumn(index, axis, "  petal "), [""]);
  assert.deepEqual(findColumn(index, axis, ""), []);
});

test("arrows lead to parent, child and along the level, and stop at the ends", () => {
  const list = visibleNodes(complete(2), createState());
  assert.equal(neighbour(list, "", "child"), "0");
  assert.equal(neighbour(list, "01", "parent"), "0");
  assert.equal(neighbour(list, "01", "after"), "10");
  assert.equal(neighbour(list, "11", "after"), "11");
  assert.equal(neighbour(list, "00", "before"), "00");
  assert.equal(neighbour(list, "00", "child"), "00");
  assert.equal(neighbour(list, "", "parent"), "");
  assert.equal(neighbour(list, "11", "first"), "");
});

test("predictions are listed by how many rows get them", () => {
  const index = complete(2);
  index.nodes.find(({ key }) => key === "11").rows = 50;
  assert.deepEqual(leafPredictions(index), ["b", "a"]);
});

/** A tree of depth 3 whose leaves predict these classes, from left to right. */
function predicting(classes) {
  const index = complete(3);
  const leaves = index.nodes.filter(({ key }) => key.length === 3);
  index.nodes.forEach((node) => { node.shares = [0.5, 0.5]; });
  leaves.forEach((node, i) => { node.prediction = classes[i]; });
  return indexTree({ nodes: index.nodes });
}

test("siblings of one class are one leaf, and so are branches of one class", () => {
  const list = visibleNodes(predicting("aabaaaaa"), createState());
  assert.deepEqual(keys(list), ["", "0", "1", "00", "01", "010", "011"]);
  assert.equal(statusOf(list, "00"), "alike");
  assert.equal(statusOf(list, "1"), "alike");
  assert.equal(statusOf(list, "01"), "split");
});

test("the one leaf has the rows of all, their class and their mean confidence", () => {
  const index = predicting("bbbbabab");
  const leaf = nodeOf(index, { i: index.byKey.get("0"), status: "alike" });
  assert.equal(leaf.prediction, "b");
  assert.equal(leaf.rows, 4);
  assert.ok(Math.abs(leaf.confidence - (0.6 + 0.6 + 0.6 + 0.9) / 4) < 1e-9);
  assert.equal(leaf.condition, undefined);
  assert.equal(leavesBelow(index, index.byKey.get("0")), 4);
});

test("classes whose names are cut alike stay apart, and rows count by weight", () => {
  const { nodes } = predicting("aabaaaaa");
  nodes.at(-1).class = 1;
  Object.assign(nodes.find(({ key }) => key === "000"), { weight: 3, confidence: 0.5 });
  Object.assign(nodes.find(({ key }) => key === "001"), { weight: 1, confidence: 0.9 });
  const index = indexTree({ nodes });
  assert.equal(statusOf(visibleNodes(index, createState()), "11"), "split");
  assert.ok(Math.abs(index.alike[index.byKey.get("00")].confidence - 0.6) < 1e-9);
});

test("a class has as many rows as it has, or what they weigh where they do not count alike", () => {
  const data = { flow: { class: "b" }, classes: [{ label: "a" }, { label: "b" }], trees: [{ nodes: [] }] };
  const flow = (root, node) => flowOf({ ...data, trees: [{ nodes: [root] }] }, node);
  const { rows, share } = flow({ shares: [0.5, 0.5], rows: 4 }, { shares: [0.5, 0.5], rows: 2 });
  assert.deepEqual([rows, share], [1, 0.5]);
  const heavy = flow({ shares: [0.1, 0.9], rows: 2, weight: 10 }, { shares: [0, 1], rows: 1, weight: 0.9 });
  assert.deepEqual([heavy.rows, heavy.share, heavy.weighted], [0.9, 0.1, true]);
});

test("who asks sees them apart: all, one branch, a path through it, or what is revealed", () => {
  const index = predicting("aabaaaaa");
  assert.equal(visibleNodes(index, createState({ leaves_apart: true })).length, 15);
  const forced = pathKeys([{ keys: ["", "0", "00", "001"] }]).forced;
  assert.ok(keys(visibleNodes(index, createState(), forced)).includes("001"));
  const state = createState();
  reveal(index, state, "001");
  assert.ok(keys(visibleNodes(index, state)).includes("001"));
  const once = createState();
  for (const status of ["split", "alike", "split"]) {
    const i = index.byKey.get("00");
    toggleFold(once, "00", 2, undefined, isAlike(index, once, i));
    assert.equal(statusOf(visibleNodes(index, once), "00"), status);
  }
});

test("a tree whose leaves are drawn as one is as deep as what is drawn", () => {
  assert.equal(fullDepth(predicting("aabbaabb"), createState()), 2);
  assert.equal(fullDepth(predicting("aabbaabb"), createState({ leaves_apart: true })), 3);
});

test("a tree of one class shows its splits, and numbers are never one leaf", () => {
  assert.equal(statusOf(visibleNodes(predicting("aaaaaaaa"), createState()), ""), "split");
  const index = complete(2);
  index.nodes.forEach((node) => { node.shares = []; node.prediction = "2 kg"; });
  assert.equal(visibleNodes(indexTree({ nodes: index.nodes }), createState()).length, 7);
});

test("a branch that was left out of a large tree is folded, for it is no leaf", () => {
  const { nodes } = complete(2);
  Object.assign(nodes.at(-1), { condition: "x ≤ 1", hidden: 6 });
  const index = indexTree({ nodes });
  const list = visibleNodes(index, createState());
  assert.equal(statusOf(list, "11"), "folded");
  assert.equal(leavesBelow(index, index.byKey.get("11")), 4);
});

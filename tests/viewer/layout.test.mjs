import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutTree } from "../../assets/viewer/layout.js";

/** Numbers in [0, 1) that are the same on every run. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A random binary tree as parents, level by level, siblings side by side. */
function randomTree(random, n) {
  const parent = [-1];
  const open = [0];
  while (parent.length < n && open.length) {
    const [node] = open.splice(Math.floor(random() * open.length), 1);
    open.push(parent.length, parent.length + 1);
    parent.push(node, node);
  }
  return parent;
}

function chain(n) {
  const parent = [-1];
  for (let i = 0; parent.length < n; i += 2) parent.push(i, i);
  return parent;
}

function sizes(random, n) {
  return Array.from({ length: n }, () => 10 + 90 * random());
}

test("no two nodes of a level come nearer than the gap, whatever their sizes", () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const random = generator(seed);
    const parent = randomTree(random, 3 + 2 * Math.floor(random() * 80));
    const breadth = sizes(random, parent.length);
    const { across, level } = layoutTree(parent, breadth, sizes(random, parent.length), { sibling: 7 });
    for (let i = 0; i < parent.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        if (level[i] !== level[j]) continue;
        const space = Math.abs(across[i] - across[j]) - (breadth[i] + breadth[j]) / 2;
        assert.ok(space > 7 - 1e-9, `seed ${seed}: nodes ${j} and ${i} are ${space} apart`);
      }
    }
  }
});

test("a parent stands midway above its children and the left child stands left", () => {
  const random = generator(5);
  const parent = randomTree(random, 101);
  const { across } = layoutTree(parent, sizes(random, 101), sizes(random, 101));
  parent.forEach((_, i) => {
    const children = parent.map((p, j) => (p === i ? j : -1)).filter((j) => j >= 0);
    if (!children.length) return;
    assert.ok(across[children[0]] < across[children[1]]);
    const middle = (across[children[0]] + across[children[1]]) / 2;
    assert.ok(Math.abs(middle - across[i]) < 1e-9);
  });
  assert.equal(across[0], 0);
});

test("equal branches look equal", () => {
  const complete = Array.from({ length: 31 }, (_, i) => (i === 0 ? -1 : (i - 1) >> 1));
  const same = layoutTree(complete, complete.map(() => 20), complete.map(() => 10), { sibling: 4 });
  for (let i = 15; i < 30; i += 1) assert.ok(Math.abs(same.across[i + 1] - same.across[i] - 24) < 1e-9);
  assert.ok(Math.abs(same.low + same.high) < 1e-9);
});

test("levels follow each other with their gaps, each as thick as its thickest node", () => {
  const { along, levels, length } = layoutTree([-1, 0, 0, 1, 1], [9, 9, 9, 9, 9], [30, 10, 20, 5, 5], {
    level: (level) => 10 * (level + 1),
  });
  assert.deepEqual(levels, [0, 40, 80]);
  assert.deepEqual(along, [0, 40, 40, 80, 80]);
  assert.equal(length, 85);
});

test("one node alone stands at the origin", () => {
  const alone = layoutTree([-1], [40], [20]);
  assert.deepEqual([alone.across[0], alone.along[0], alone.low, alone.high, alone.length], [0, 0, -20, 20, 20]);
});

test("a chain of 200,000 nodes is laid out: neither recursion nor square time", () => {
  const parent = chain(200001);
  const ones = parent.map(() => 1);
  const { levels } = layoutTree(parent, ones, ones);
  assert.equal(levels.length, 100001);
});

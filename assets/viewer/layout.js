/** Tidy layout of a tree in linear time (after Reingold and Tilford, 1981). */

/**
 * Place nodes so that no two overlap, parents stand midway above their children, equal
 * branches look equal, and the root stands at 0.
 *
 * @param {number[]} parent  index of each node's parent, -1 at the root; parents first,
 *   siblings in the order in which they shall stand
 * @param {number[]} breadth  size of each node across the levels
 * @param {number[]} depth  size of each node along the levels
 * @param {{sibling?: number, level?: number | ((level: number) => number)}} gap  least
 *   space between neighbours, and between levels
 * @returns {{across: number[], along: number[], level: number[], levels: number[],
 *   low: number, high: number, length: number}}  centre of each node across, its start
 *   along; start of each level; the extent of the picture
 */
export function layoutTree(parent, breadth, depth, gap = {}) {
  const n = parent.length;
  const sibling = gap.sibling ?? 16;
  const space = typeof gap.level === "function" ? gap.level : () => gap.level ?? 48;
  const level = new Array(n).fill(0);
  const children = Array.from({ length: n }, () => []);
  for (let i = 1; i < n; i += 1) {
    level[i] = level[parent[i]] + 1;
    children[parent[i]].push(i);
  }
  const shift = new Array(n).fill(0); // of a node's centre from its parent's
  const outline = new Array(n); // of the branch below a node, from its centre
  for (let i = n - 1; i >= 0; i -= 1) {
    let branch = null;
    const places = [];
    for (const child of children[i]) {
      const next = outline[child];
      outline[child] = null;
      if (!branch) {
        places.push(0);
        branch = next;
      } else {
        const place = distance(branch, next, sibling);
        places.push(place);
        branch = join(branch, next, place);
      }
    }
    const middle = places.length ? (places[0] + places[places.length - 1]) / 2 : 0;
    children[i].forEach((child, k) => {
      shift[child] = places[k] - middle;
    });
    if (!branch) branch = { left: [], right: [], leftOff: 0, rightOff: 0 };
    branch.leftOff -= middle;
    branch.rightOff -= middle;
    branch.left.push(-breadth[i] / 2 - branch.leftOff);
    branch.right.push(breadth[i] / 2 - branch.rightOff);
    outline[i] = branch;
  }

  const across = new Array(n).fill(0);
  const thick = [];
  let low = 0;
  let high = 0;
  for (let i = 0; i < n; i += 1) {
    if (i > 0) across[i] = across[parent[i]] + shift[i];
    thick[level[i]] = Math.max(thick[level[i]] ?? 0, depth[i]);
    low = Math.min(low, across[i] - breadth[i] / 2);
    high = Math.max(high, across[i] + breadth[i] / 2);
  }
  const levels = [];
  let start = 0;
  thick.forEach((size, l) => {
    levels.push(start);
    start += size + (l < thick.length - 1 ? space(l) : 0);
  });
  const along = level.map((l) => levels[l]);
  return { across, along, level, levels, low, high, length: start };
}

// An outline holds the outermost edges of a branch by level, deepest first, so that a
// new root is pushed in constant time; `off` moves a whole side at once.

/** Least distance between the centres of two branches that do not touch. */
function distance(first, second, sibling) {
  const common = Math.min(first.right.length, second.left.length);
  let needed = 0;
  for (let k = 1; k <= common; k += 1) {
    const right = first.right[first.right.length - k] + first.rightOff;
    const left = second.left[second.left.length - k] + second.leftOff;
    needed = Math.max(needed, right - left + sibling);
  }
  return needed;
}

/** Outline of two branches side by side; costs the depth of the shallower. */
function join(first, second, place) {
  const [left, leftOff] = side(first.left, first.leftOff, second.left, second.leftOff + place);
  const [right, rightOff] = side(
    second.right, second.rightOff + place, first.right, first.rightOff,
  );
  return { left, leftOff, right, rightOff };
}

/** The nearer side as deep as it goes, below that the farther one. */
function side(near, nearOff, far, farOff) {
  if (near.length >= far.length) return [near, nearOff];
  for (let k = 1; k <= near.length; k += 1) {
    far[far.length - k] = near[near.length - k] + nearOff - farOff;
  }
  return [far, farOff];
}

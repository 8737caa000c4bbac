/** Where nodes stand and how large they are: sizes by level, so that words stay legible. */

import { cardPlan, pillWidth } from "./card.js";
import { layoutTree } from "./layout.js";
import { fullDepth, leavesBelow, nodeOf, visibleNodes } from "./model.js";

/** Least zoom at which a picture opens: the smallest type is then about nine pixels. */
export const LEGIBLE = 0.83;
export const LARGEST = 1.15;

const GAP = { full: 58, plain: 52, chip: 42 };

const SHRINK = 0.55; // of each level on the one above, where a tree is too wide for words

/** Scale of a level: 1, and past `tiers.whole` ever smaller, to be read by zooming in. */
export function scaleOf(level, tiers) {
  return level <= (tiers.whole ?? Infinity) ? 1 : SHRINK ** (level - tiers.whole);
}

/** The tier of a level: the first `full` levels, then up to `plain`, then chips. */
export function tierOf(level, tiers) {
  if (level < tiers.full) return "full";
  return level < tiers.plain ? "plain" : "chip";
}

/**
 * Sizes and places of the visible nodes.
 *
 * @returns {{list: object[], plans: object[], tiers: string[], scales: number[],
 *   x: number[], y: number[], box: {x: number, y: number, w: number, h: number}}}  top
 *   left corners of plans drawn at their scale; the root's middle at 0
 */
export function arrange(scene, state, tiers, direction) {
  const { data, index, forced, notes } = scene;
  const list = visibleNodes(index, state, forced);
  const named = list.map((entry) => tierOf(entry.level, tiers));
  const plans = list.map((entry, k) =>
    planOf(data, nodeOf(index, entry), entry.status, named[k], leavesBelow(index, entry.i), notes?.get(entry.key)));
  const down = direction !== "right";
  const scales = list.map((entry) => scaleOf(entry.level, tiers));
  const beside = (tier) => (tier === "chip" ? 9 : 13);
  const breadth = plans.map((plan, k) => ((down ? plan.w : plan.h) + beside(named[k])) * scales[k]);
  const depth = plans.map((plan, k) => {
    const { status, i } = list[k];
    return ((down ? plan.h : plan.w) + handleRoom(status, leavesBelow(index, i), down)) * scales[k];
  });
  const placed = layoutTree(list.map((entry) => entry.parent), breadth, depth, {
    sibling: 0, // counted into the breadths, which shrink with their level
    level: (level) => (GAP[tierOf(level + 1, tiers)] + (down ? 0 : 26)) * scaleOf(level + 1, tiers),
  });
  const x = [];
  const y = [];
  list.forEach((_, k) => {
    x.push(down ? placed.across[k] - (plans[k].w * scales[k]) / 2 : placed.along[k]);
    y.push(down ? placed.along[k] : placed.across[k] - (plans[k].h * scales[k]) / 2);
  });
  const size = placed.high - placed.low;
  const box = down
    ? { x: placed.low, y: 0, w: size, h: placed.length }
    : { x: 0, y: placed.low, w: placed.length, h: size };
  return { list, plans, tiers: named, scales, x, y, box };
}

/** What the handle of a closed branch takes beyond its card. */
function handleRoom(status, leaves, down) {
  if (status !== "alike" && status !== "folded") return 0;
  if (down) return 16;
  return status === "alike" ? pillWidth(leaves) : 22;
}

const plansOf = new WeakMap();

function planOf(data, node, status, tier, leaves, note) {
  if (note) return cardPlan(data, node, status, tier, { leaves, note });
  let known = plansOf.get(node);
  if (!known || known.data !== data) plansOf.set(node, (known = { data }));
  const id = `${status}/${tier}/${status === "folded" ? leaves : ""}`;
  known[id] ??= cardPlan(data, node, status, tier, { leaves });
  return known[id];
}

/** The zoom at which a box fits a view with a margin. */
export function fitZoom(box, view, margin = 20) {
  const zoom = Math.min((view.w - 2 * margin) / box.w, (view.h - 2 * margin - 14) / box.h);
  return Math.min(LARGEST, Math.max(0.02, zoom));
}

/**
 * The largest cards with which the tree is legible at a glance. Where even chips would
 * be too small, fewer levels are opened, or, when the reader asked for so many, the deep
 * ones shrink.
 *
 * @param {number} limit  levels the reader asked for, or null to choose
 * @param {number} least  the smallest zoom that counts as legible
 */
export function chooseSizes(scene, state, direction, view, least = LEGIBLE) {
  const deepest = fullDepth(scene.index, state, scene.forced);
  const asked = state.limit;
  const zoomOf = (tiers, limit) =>
    fitZoom(arrange(scene, { ...state, limit }, tiers, direction).box, view);
  let limit = asked === null ? deepest : Math.min(asked, deepest);
  if (asked === null) {
    // More than two hundred nodes are never legible at once: look from there upwards.
    while (limit > 2 && visibleNodes(scene.index, { ...state, limit }, scene.forced).length > 220) limit -= 1;
    while (limit > 1 && zoomOf({ full: 0, plain: 0 }, limit) < least) limit -= 1;
  }
  const levels = limit + 1;
  const wanted = [];
  for (let full = levels; full >= 1; full -= 1) wanted.push({ full, plain: levels });
  // Legible conditions on one more level are worth more than charts above them.
  for (let plain = levels; plain >= 0; plain -= 1) {
    for (let full = Math.min(plain, 2); full >= 0; full -= 1) wanted.push({ full, plain });
  }
  const many = visibleNodes(scene.index, { ...state, limit }, scene.forced).length > 400;
  let tiers = many ? null : wanted.find((tried) => zoomOf(tried, limit) >= least);
  // A path that is followed is read from the root on, at one size, in view or not.
  if (asked === null && scene.forced.size) tiers ??= { full: 0, plain: 0 };
  for (let whole = Math.min(limit - 1, 6); !tiers && whole >= 0; whole -= 1) {
    const plain = Math.min(3, whole);
    const tried = [{ full: 1, plain, whole }, { full: 0, plain, whole }, { full: 0, plain: 0, whole }];
    tiers = tried.find((sizes) => zoomOf(sizes, limit) >= least);
  }
  tiers ??= { full: 0, plain: 0, whole: 0 };
  return { limit: asked === null && limit >= deepest ? null : limit, tiers };
}

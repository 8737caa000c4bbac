/** What a view shows: boxes around parts of the picture, and the place of a camera on one. */

import { arrange, fitZoom, LEGIBLE } from "./arrange.js";
import { largestFrame, sceneOf } from "./view.js";

const LEAST = 0.45; // zoom at which a path that is followed is still shown whole
const FRAMES_FITTED = 24; // of a run, looked at to fit all of it

/** Where a node stands in an arrangement: its corner, size and middle across. */
export function placeOf({ list, plans, scales, x, y }, key) {
  const k = list.findIndex((entry) => entry.key === key);
  const [w, h] = [plans[k].w * scales[k], plans[k].h * scales[k]];
  return { x: x[k], y: y[k], w, h, middle: x[k] + w / 2 };
}

/** The smallest box around others; null around none. */
export function around(boxes) {
  if (!boxes.length) return null;
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x, y,
    w: Math.max(...boxes.map((box) => box.x + box.w)) - x,
    h: Math.max(...boxes.map((box) => box.y + box.h)) - y,
  };
}

/** The box that holds the pictures of all frames of a run. */
export function boxOfFrames(data, state, tiers, direction) {
  const step = Math.max(1, Math.ceil(data.trees.length / FRAMES_FITTED));
  const boxes = [{ x: 0, y: 0, w: 0, h: 0 }];
  const looked = new Set([largestFrame(data)]);
  for (let i = 0; i < data.trees.length; i += step) looked.add(i);
  for (const i of looked) boxes.push(arrange(sceneOf(data, i), state, tiers, direction).box);
  return around(boxes);
}

/** The box that holds the paths that are followed; null where there is none. */
export function pathBox(arrangement, on) {
  const keys = arrangement.list.map(({ key }) => key).filter((key) => on.has(key));
  return around(keys.map((key) => placeOf(arrangement, key)));
}

/** Whether a part of a box lies outside a view. */
export function leaves(box, { x, y, w, h }) {
  return box.x < x || box.y < y || box.x + box.w > x + w || box.y + box.h > y + h;
}

/**
 * Where the camera stands to show a box; of one too small to read, when `legible` is
 * asked for, the paths that are followed, or the root.
 *
 * @param {{w: number, h: number}} view  pixels
 * @param {?object} path  box around the paths
 * @returns {{x: number, y: number, k: number}}
 */
export function cameraOn(box, view, direction, legible, path) {
  let k = fitZoom(box, view);
  let cropped = legible && k < LEGIBLE;
  if (cropped) {
    const whole = path ? fitZoom(path, view) : 0;
    if (whole < LEAST) k = LEGIBLE;
    else [box, k, cropped] = [path, Math.min(LEGIBLE, whole), false];
  }
  let x = (view.w - box.w * k) / 2 - box.x * k;
  let y = Math.max(16, Math.min(72, (view.h - box.h * k) / 2)) - box.y * k;
  if (cropped) {
    const down = direction === "down";
    if (box.w * k > view.w - 16) x = down ? view.w / 2 : 20;
    if (box.h * k > view.h - 16) y = down ? 20 : view.h / 2;
  }
  return { x, y, k };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { LEGIBLE } from "../../assets/viewer/arrange.js";
import { around, cameraOn, leaves } from "../../assets/viewer/fit.js";

const view = { w: 800, h: 500 };
/** What of the picture a camera shows. */
const seen = ({ x, y, k }) => ({ x: -x / k, y: -y / k, w: view.w / k, h: view.h / k });

test("a box around others holds them all, and none is around nothing", () => {
  const boxes = [{ x: -5, y: 2, w: 4, h: 1 }, { x: 3, y: -1, w: 2, h: 9 }];
  assert.deepEqual(around(boxes), { x: -5, y: -1, w: 10, h: 9 });
  assert.equal(around([]), null);
});

test("the camera shows all of a box, however large, to the reader who asks for it", () => {
  for (const w of [100, 700, 9000]) {
    for (const h of [50, 4000]) {
      const box = { x: -w / 2, y: 0, w, h };
      for (const direction of ["down", "right"]) {
        assert.ok(!leaves(box, seen(cameraOn(box, view, direction, false, null))));
      }
    }
  }
});

test("a box too large to be read opens at its root, at a legible zoom", () => {
  const wide = { x: -5000, y: 0, w: 10000, h: 300 };
  const camera = cameraOn(wide, view, "down", true, null);
  assert.equal(camera.k, LEGIBLE);
  assert.ok(!leaves({ x: -100, y: 0, w: 200, h: 100 }, seen(camera)));
});

test("a path that is followed is shown instead, when all cannot be read", () => {
  const wide = { x: -5000, y: 0, w: 10000, h: 400 };
  const path = { x: 3000, y: 0, w: 600, h: 400 };
  assert.ok(!leaves(path, seen(cameraOn(wide, view, "down", true, path))));
});

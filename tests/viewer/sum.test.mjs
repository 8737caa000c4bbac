import assert from "node:assert/strict";
import { test } from "node:test";
import { cardPlan, fitPrediction, TIERS } from "../../assets/viewer/card.js";
import { measure } from "../../assets/viewer/text.js";
import { isSum, MOST_TERMS, sumPlan, sumTerms } from "../../assets/viewer/sum.js";

/** A split that adds up so many columns. */
function split(n, folded = 0) {
  const weights = Array.from({ length: n }, (_, k) => [`column ${k}`, k % 2 ? -k : k + 1, 1 / (n + folded), String(k % 2 ? k : k + 1)]);
  if (folded) weights.push([`${folded} other features`, null, folded / (n + folded)]);
  return { condition: "0.61·age − 0.42·bmi ≤ 1.3", bound: "1.3", weights, shares: [1], rows: 5, share: 1 };
}

const data = { task: "binary", classes: [{ label: "a", color: "#000000" }] };

test("a card of any size has a line for each of the three largest terms, one for the rest, and the bound", () => {
  for (const tier of TIERS) {
    for (let n = 2; n <= 40; n += 1) {
      const { blocks } = sumPlan(split(n), tier);
      assert.equal(blocks.length, Math.min(n, MOST_TERMS + 1) + 1);
      const plan = cardPlan(data, split(n), "split", tier);
      assert.deepEqual(plan.blocks.slice(0, blocks.length).map(({ h }) => h), blocks.map(({ h }) => h));
    }
  }
});

test("beside a card all terms that are known are listed", () => {
  assert.equal(sumPlan(split(12), "full", Infinity).blocks.length, 13);
  assert.equal(sumPlan(split(12, 5), "full", Infinity).blocks.length, 14);
});

test("terms carry their sign; the first needs none to be added", () => {
  const { terms, rest } = sumTerms(split(3), 8);
  assert.deepEqual(terms.map(({ sign, size, name }) => `${sign}${size}·${name}`), ["1·column 0", "− 1·column 1", "+ 3·column 2"]);
  assert.equal(rest, null);
});

test("what is not written is counted, and how much it weighs", () => {
  assert.deepEqual(sumTerms(split(10), 8).rest, { words: "+ 2 more features", share: "20%" });
  assert.deepEqual(sumTerms(split(10, 10), 8).rest, { words: "+ 12 more features", share: "60%" });
  assert.deepEqual(sumTerms(split(8, 1), 8).rest.words, "+ 1 more feature");
});

test("a split of one column is no sum", () => {
  assert.ok(!isSum(split(1)));
  assert.ok(!isSum({ condition: "age ≤ 3" }));
  assert.ok(isSum(split(2)));
});

test("a leaf of several outputs shows their values where their names have no room", () => {
  const node = { prediction: "progression 91.8, visits 7.9", outputs: [[91.8, "91.8"], [7.9, "7.9"]] };
  const words = fitPrediction({ task: "regression" }, node, 80, 11.5, 650);
  assert.equal(words.replace(/[\u2068\u2069]/g, ""), "91.8 · 7.9");
});

test("a leaf shows its whole value where there is no room for its unit", () => {
  const data = { task: "regression", target: { unit: "EUR" } };
  const words = (room) => fitPrediction(data, { prediction: "1,057,807 EUR" }, room, 14, 650).replace(/[\u2068\u2069]/g, "");
  assert.equal(words(1000), "1,057,807 EUR");
  assert.equal(words(measure("1,057,807 E…", 14, 650)), "1,057,807");
});

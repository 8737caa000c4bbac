import assert from "node:assert/strict";
import { test } from "node:test";
import { countShort, cut, isolate, measure, percent, questionLines, short } from "../../assets/viewer/text.js";

const plain = (line) => line.replace(/[\u2068\u2069]/g, "");

test("a cut text fits its room and ends with an ellipsis; one that fits is whole", () => {
  const long = "a name that nobody would read to its end";
  for (const room of [20, 60, 150]) {
    const kept = cut(long, room, 13, 600);
    assert.ok(kept.endsWith("…") && measure(kept, 13, 600) <= room);
  }
  assert.equal(cut("age", 100, 13), "age");
});

test("an emoji of many parts is kept or cut as a whole", () => {
  const family = "👨‍👩‍👧‍👦";
  const kept = cut(`${family}${family}${family}`, measure(`${family}…`, 13), 13);
  assert.equal(kept, `${family}…`);
});

test("a long name is cut, the value that decides stays", () => {
  const name = "a very long name of a column of a table";
  const [first, second] = questionLines(`${name} ≤ 0.8 cm`, name, 120, 13).map(plain);
  assert.ok(first.endsWith("…"));
  assert.equal(second, "≤ 0.8 cm");
});

test("a weighted sum keeps the number it is held against", () => {
  const question = "0.61·age of the person − 0.42·body mass index + 0.2·height of the person ≤ 1.3";
  const lines = questionLines(question, null, 150, 13).map(plain);
  assert.equal(lines.length, 2);
  assert.ok(lines[1].endsWith("≤ 1.3"));
});

test("a first term too long for its line is cut, and the number still stays", () => {
  for (const rest of ["", " + 0.2·height of the person − 3·bmi"]) {
    const lines = questionLines(`−0.0000587·capital-gain-of-the-year${rest} ≤ −114`, null, 90, 11).map(plain);
    assert.equal(lines.length, 2);
    assert.ok(lines[0].startsWith("−0.0000587") && lines[0].endsWith("…"));
    assert.ok(lines[1].endsWith("≤ −114"));
  }
});

test("names keep their own direction", () => {
  assert.deepEqual(questionLines("عمر ≤ 3", "عمر", 200, 13), [`${isolate("عمر")} ≤ 3`]);
});

test("numbers are short and true", () => {
  assert.deepEqual([0, 0.0004, 0.034, 0.5, 0.9996, 1].map(percent), ["0%", "<0.1%", "3.4%", "50%", ">99.9%", "100%"]);
  assert.deepEqual([0, 1234.5, 0.012345, -2.5, 12345678].map(short), ["0", "1,235", "0.0123", "−2.5", "1.23e7"]);
  assert.deepEqual([950, 12345, 179000, 1785770].map(countShort), ["950", "12.3k", "179k", "1.8M"]);
  assert.deepEqual([percent(null), short(null)], ["–", "–"]);
});

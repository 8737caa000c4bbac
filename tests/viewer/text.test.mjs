import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionLines, countShort, cut, isolate, measure, ofColumn, percent, short, spreadText, targetText } from "../../assets/viewer/text.js";

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

test("a long name loses its middle, the value that decides stays", () => {
  const name = "a very long name of a column of a table";
  const [first, second] = conditionLines(`${name} ≤ 0.8 cm`, name, 120, 13).map(plain);
  assert.ok(first.startsWith("a very") && first.endsWith("table") && first.includes("…"));
  assert.ok(measure(first, 13, 600) <= 120);
  assert.equal(second, "≤ 0.8 cm");
});

test("a list of categories takes the lines that it needs, and none is left out", () => {
  const names = ["Sales", "Tech support", "Craft and repair", "Farming", "Law", "Clerk"];
  const lines = conditionLines(`occupation in {${names.join(", ")}}`, "occupation", 130, 13).map(plain);
  assert.equal(lines[0], "occupation");
  assert.equal(lines.slice(1).join(" "), `in {${names.join(", ")}}`);
  for (const line of lines) assert.ok(measure(line, 13, 600) <= 130);
});

test("a list too long for any card is cut at its end", () => {
  const names = Array.from({ length: 60 }, (_, i) => `type ${i}`);
  const lines = conditionLines(`kind not in {${names.join(", ")}}`, "kind", 130, 13).map(plain);
  assert.ok(lines.length <= 9 && lines.at(-1).endsWith("…"));
  assert.equal(lines[1], "not in {type 0,");
});

test("names keep their own direction", () => {
  assert.deepEqual(conditionLines("عمر ≤ 3", "عمر", 200, 13), [`${isolate("عمر")} ≤ 3`]);
});

test("numbers are short and true", () => {
  assert.deepEqual([0, 0.0004, 0.034, 0.5, 0.9996, 1].map(percent), ["0%", "<0.1%", "3.4%", "50%", ">99.9%", "100%"]);
  assert.deepEqual([0, 1234.5, 0.012345, -2.5, 12345678].map(short), ["0", "1,235", "0.0123", "−2.5", "1.23e7"]);
  assert.deepEqual([950, 12345, 179000, 1785770].map(countShort), ["950", "12.3k", "179k", "1.8M"]);
  assert.deepEqual([2019, -1482, 35000, 0.25].map(ofColumn), ["2019", "−1482", "35,000", "0.25"]);
  assert.deepEqual([percent(null), short(null)], ["–", "–"]);
});

test("a standard deviation is plus and minus of a mean alone", () => {
  const node = { mean: 3, std: 1.25 };
  assert.equal(spreadText({ target: {} }, node), "± 1.25");
  assert.equal(spreadText({ target: { value: "mean" } }, node), "± 1.25");
  assert.equal(spreadText({ target: { value: "0.9 quantile" } }, node), "SD 1.25");
});

test("predicted hours are times where the target holds these", () => {
  const times = { times: true };
  const hours = [17.0341, 1.28, 0.518, 0.0134, -1.5, 0, 30.25];
  const words = ["17:02", "1:17", "0:31", "0:00:48", "−1:30", "0:00", "30:15"];
  assert.deepEqual(hours.map((own) => targetText(own, times)), words);
  assert.deepEqual([targetText(null, times), targetText(1.28, {})], ["–", "1.28"]);
});

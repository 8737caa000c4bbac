/** The modules keep the form in which they can be joined into one text. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const folder = new URL("../../assets/viewer/", import.meta.url);
const order = JSON.parse(readFileSync(new URL("order.json", folder), "utf-8"));
const source = (name) => readFileSync(new URL(name, folder), "utf-8");
const IMPORT = /^import \{[^}]*\} from "(\.\/[a-z]+\.js)";\n/gm;

test("the order names every module once, and each after those it imports", () => {
  assert.deepEqual([...order].sort(), readdirSync(folder).filter((name) => name.endsWith(".js")).sort());
  order.forEach((name, i) => {
    for (const [, path] of source(name).matchAll(IMPORT)) {
      const at = order.indexOf(path.slice(2));
      assert.ok(at >= 0 && at < i, `${name} imports ${path} before it is there`);
    }
  });
});

test("imports and exports have the one form, and joined they are one program", () => {
  const joined = order.map((name) =>
    source(name).replace(IMPORT, "").replace(/^export (?=(?:async )?(?:function|const|class)\b)/gm, ""));
  joined.forEach((text, i) => assert.doesNotMatch(text, /^\s*(import|export)\b/m, order[i]));
  const make = new Function(`"use strict"; ${joined.join("\n")}; return mount;`);
  assert.equal(typeof make(), "function");
});

test("no text from a table can enter as markup", () => {
  for (const name of order) {
    assert.doesNotMatch(source(name), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/, name);
  }
});

test("nothing is fetched from elsewhere", () => {
  for (const name of order) {
    const foreign = source(name).match(/https?:\/\/[^"\s]+/g) ?? [];
    assert.deepEqual(foreign.filter((address) => !address.startsWith("http://www.w3.org/")), [], name);
  }
});

/** The line of controls above the picture. */

import { leafAnswers } from "./model.js";
import { html, svg } from "./svg.js";
import { percent } from "./text.js";

const ICONS = {
  in: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14M7 4.8v4.4M4.8 7h4.4",
  out: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14M4.8 7h4.4",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  turn: "M3 3v7a3 3 0 0 0 3 3h7M10 10l3 3-3 3", less: "M4 8h8", more: "M4 8h8M8 4v8",
  filter: "M2 4h12M4.5 8h7M7 12h2", save: "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10",
};

/** A small drawing for a button. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "icon" },
    svg("path", { d: ICONS[name] }));
}

function button(label, name, act, text) {
  return html("button", { type: "button", "aria-label": label, title: label, onclick: act }, icon(name), text && html("span", { text }));
}

/** Build the controls; `acts` are what they do. Returns what keeps them true. */
export function buildTools(bar, acts) {
  const levels = html("output", { class: "levels" });
  const stepper = html("div", { class: "group", role: "group", "aria-label": "Levels shown" },
    html("span", { class: "name", text: "Levels" }),
    button("One level less", "less", () => acts.levels(-1)), levels,
    button("One level more", "more", () => acts.levels(1)),
    html("button", { type: "button", class: "all", onclick: () => acts.levels(null), text: "All" }));
  const search = html("input", {
    type: "search", placeholder: "Find column", "aria-label": "Find a column",
    oninput: () => acts.find(search.value),
    onkeydown: (event) => { if (event.key === "Enter") acts.findNext(); },
  });
  const found = html("span", { class: "count", "aria-live": "polite" });
  const filter = buildFilter(acts);
  const save = menu("Save", "save",
    html("button", { type: "button", onclick: () => acts.save("svg"), text: "Picture as SVG" }),
    html("button", { type: "button", onclick: () => acts.save("png"), text: "Picture as PNG" }));
  bar.append(stepper, html("div", { class: "group find" }, search, found), filter.box,
    html("div", { class: "group end", role: "group", "aria-label": "View" },
      button("Zoom out", "out", () => acts.zoom(1 / 1.4)), button("Zoom in", "in", () => acts.zoom(1.4)),
      button("Fit the tree into view", "fit", acts.fit, "Fit"), button("Turn the tree", "turn", acts.turn, "Turn"), save));
  return {
    update({ index, state, matches, shown }) {
      levels.textContent = `${shown} of ${index.depth}`;
      found.textContent = state.find.trim() ? `${matches} ${matches === 1 ? "split" : "splits"}` : "";
      filter.update(index, state);
    },
  };
}

function menu(label, name, ...items) {
  const box = html("details", { class: "menu" });
  const title = html("summary", { "aria-label": label, title: label }, icon(name), html("span", { text: label }));
  box.append(title, html("div", { class: "sheet" }, ...items));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    title.focus();
    event.stopPropagation();
  });
  box.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !box.contains(event.relatedTarget)) box.open = false;
  });
  return box;
}

function buildFilter(acts) {
  const share = html("input", { type: "range", min: 0, max: 20, step: 0.5, value: 0, "aria-label": "Least share of rows at a leaf", oninput: () => changed() });
  const confidence = html("input", { type: "range", min: 0, max: 100, step: 1, value: 0, "aria-label": "Least confidence", oninput: () => changed() });
  const answer = html("select", { "aria-label": "Answer of the leaf", onchange: () => changed() });
  const shareWords = html("output", {});
  const confidenceWords = html("output", {});
  const clear = html("button", { type: "button", text: "Clear", onclick: () => acts.filter({ share: 0, answer: null, confidence: 0 }) });
  const row = (name, control, words) => html("label", {}, html("span", { text: name }), control, words);
  const confidenceRow = row("Confidence at least", confidence, confidenceWords);
  const answerRow = row("Leaves that answer", answer);
  const box = menu("Filter", "filter",
    row("Rows at least", share, shareWords), answerRow, confidenceRow, clear);
  function changed() {
    acts.filter({
      share: Number(share.value) / 100,
      answer: answer.value === "" ? null : answer.value.slice(1),
      confidence: Number(confidence.value) / 100,
    });
  }
  let listed = "";
  return {
    box,
    update(index, state) {
      const { filter } = state;
      share.value = filter.share * 100;
      confidence.value = filter.confidence * 100;
      shareWords.textContent = percent(filter.share);
      confidenceWords.textContent = percent(filter.confidence);
      const hasClasses = index.nodes[0].shares?.length > 0;
      confidenceRow.hidden = !hasClasses;
      answerRow.hidden = !hasClasses;
      const answers = hasClasses ? leafAnswers(index).slice(0, 200) : [];
      if (JSON.stringify(answers) !== listed) {
        listed = JSON.stringify(answers);
        // A letter before each keeps an answer of "" apart from "any".
        answer.replaceChildren(html("option", { value: "", text: "any class" }),
          ...answers.map((name) => html("option", { value: `=${name}`, text: name })));
      }
      answer.value = filter.answer === null ? "" : `=${filter.answer}`;
      const on = filter.share > 0 || filter.answer !== null || filter.confidence > 0;
      box.classList.toggle("on", on);
      clear.disabled = !on;
    },
  };
}

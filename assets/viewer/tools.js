/** The controls above the picture. */

import { leafPredictions } from "./model.js";
import { html, svg } from "./svg.js";
import { percent } from "./text.js";

const ICONS = {
  in: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14M7 4.8v4.4M4.8 7h4.4",
  out: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14M4.8 7h4.4",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  rotate: "M3 3v7a3 3 0 0 0 3 3h7M10 10l3 3-3 3", less: "M4 8h8", more: "M4 8h8M8 4v8",
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

/** Build the controls; `actions` are what they do. Returns what keeps them up to date. */
export function buildTools(bar, actions) {
  const levels = html("output", { class: "levels" });
  const stepper = html("div", { class: "group", role: "group", "aria-label": "Levels shown" },
    html("span", { class: "name", text: "Levels" }),
    button("One level less", "less", () => actions.levels(-1)), levels,
    button("One level more", "more", () => actions.levels(1)),
    html("button", { type: "button", class: "all", onclick: () => actions.levels(null), text: "All" }));
  const search = html("input", {
    type: "search", placeholder: "Find feature", "aria-label": "Find a feature",
    oninput: () => actions.find(search.value),
    onkeydown: (event) => { if (event.key === "Enter") actions.findNext(); },
  });
  const found = html("span", { class: "count", "aria-live": "polite" });
  const filter = buildFilter(actions);
  const save = menu("Save", "save",
    html("button", { type: "button", onclick: () => actions.save("svg"), text: "Picture as SVG" }),
    html("button", { type: "button", onclick: () => actions.save("png"), text: "Picture as PNG" }));
  bar.append(stepper, html("div", { class: "group find" }, search, found), filter.box,
    html("div", { class: "group end", role: "group", "aria-label": "View" },
      button("Zoom out", "out", () => actions.zoom(1 / 1.4)), button("Zoom in", "in", () => actions.zoom(1.4)),
      button("Fit the tree into view", "fit", actions.fit, "Fit"), button("Rotate the tree", "rotate", actions.rotate, "Rotate"), save));
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

function buildFilter(actions) {
  const share = html("input", { type: "range", min: 0, max: 20, step: 0.5, value: 0, "aria-label": "Minimum share of rows in a leaf", oninput: () => changed() });
  const confidence = html("input", { type: "range", min: 0, max: 100, step: 1, value: 0, "aria-label": "Minimum confidence", oninput: () => changed() });
  const prediction = html("select", { "aria-label": "Predicted class", onchange: () => changed() });
  const shareWords = html("output", {});
  const confidenceWords = html("output", {});
  const clear = html("button", { type: "button", text: "Clear", onclick: () => actions.filter({ share: 0, prediction: null, confidence: 0 }) });
  const apart = html("input", { type: "checkbox", onchange: () => actions.apart(apart.checked) });
  const row = (name, control, words) => html("label", {}, html("span", { text: name }), control, words);
  const confidenceRow = row("Min confidence", confidence, confidenceWords);
  const predictionRow = row("Predicted class", prediction);
  const apartRow = row("Same-class leaves apart", apart);
  const box = menu("Filter", "filter",
    row("Min share of rows", share, shareWords), predictionRow, confidenceRow, apartRow, clear);
  function changed() {
    actions.filter({
      share: Number(share.value) / 100,
      prediction: prediction.value === "" ? null : prediction.value.slice(1),
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
      predictionRow.hidden = !hasClasses;
      apartRow.hidden = !index.alike.some(Boolean);
      apart.checked = state.apart;
      const predictions = hasClasses ? leafPredictions(index).slice(0, 200) : [];
      if (JSON.stringify(predictions) !== listed) {
        listed = JSON.stringify(predictions);
        // A letter before each tells the class "" from "any class".
        prediction.replaceChildren(html("option", { value: "", text: "any class" }),
          ...predictions.map((name) => html("option", { value: `=${name}`, text: name })));
      }
      prediction.value = filter.prediction === null ? "" : `=${filter.prediction}`;
      const on = filter.share > 0 || filter.prediction !== null || filter.confidence > 0;
      box.classList.toggle("on", on);
      clear.disabled = !on;
    },
  };
}

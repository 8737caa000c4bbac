/** Elements made safely: whatever comes from a table enters by textContent only. */

const SVG_SPACE = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** An SVG element; `text` sets its text, `onclick` and the like its listeners. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_SPACE, tag), attributes, children);
}

/** An HTML element, in the same way. */
export function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

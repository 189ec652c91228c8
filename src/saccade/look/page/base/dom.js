// Helpers that create elements. Text becomes text nodes only: no code of the page parses markup.
const SVG = "http://www.w3.org/2000/svg";

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "css") for (const [property, set] of Object.entries(value)) element.style.setProperty(property,
      set);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  const present = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...present);
  return element;
}

/** An HTML element. `on` holds listeners, `css` style properties, which the Content-Security-Policy allows. */
export const el = (name, attributes = {}, ...children) => furnish(document.createElement(name), attributes, children);

/** An SVG element, with the same arguments. */
export const svg = (name, attributes = {}, ...children) =>
  furnish(document.createElementNS(SVG, name), attributes, children);

/** A button that does not submit a form. */
export const button = (label, act, attributes = {}) =>
  el("button", { type: "button", ...attributes, on: { click: act, ...attributes.on } }, label);

/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** The first element that a selector finds, or null. @type {(selector: string, root?: ParentNode) => any} */
export const find = (selector, root = document) => root.querySelector(selector);

/** All elements that a selector finds. @type {(selector: string, root?: ParentNode) => any[]} */
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Replace the content of `root`. The focus, scroll positions and open details stay where elements have the same key. */
export function redraw(root, ...children) {
  const focused = /** @type {any} */ (document.activeElement);
  const key = root.contains(focused) ? focused.closest("[data-key]")?.dataset.key : null;
  const scrolls = new Map([...root.querySelectorAll("[data-scroll]")].map((box) => [box.dataset.scroll, box]));
  const places = new Map([...scrolls].map(([name, box]) => [name, [box.scrollLeft, box.scrollTop]]));
  const summaries = (open) => [...root.querySelectorAll(open ? "details[open] > summary" : "summary")];
  const open = new Set(summaries(true).map((summary) => summary.dataset.key));
  root.replaceChildren(...children.flat(Infinity).filter(Boolean));
  for (const box of root.querySelectorAll("[data-scroll]")) {
    [box.scrollLeft, box.scrollTop] = places.get(box.dataset.scroll) ?? [0, 0];
  }
  for (const summary of summaries(false)) {
    if (summary.dataset.key && open.has(summary.dataset.key)) summary.parentElement.open = true;
  }
  if (key) root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** Roving tabindex: one tab stop for a group of elements; arrow keys, Home and End move inside it. In a `row`, the keys
 * up and down are left to others. */
export function roving(group, selector, { row = false } = {}) {
  const items = () => [...group.querySelectorAll(selector)];
  const choose = (item) => items().forEach((each) => each.setAttribute("tabindex", each === item ? "0" : "-1"));
  group.dataset.arrows = "";
  choose(items()[0]);
  group.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item) choose(item);
  });
  group.addEventListener("keydown", (event) => {
    const all = items();
    const place = all.indexOf(event.target.closest(selector));
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: all.length - 1,
      ...(row ? {} : { ArrowDown: place + 1, ArrowUp: place - 1 }) }[event.key];
    if (place < 0 || to === undefined) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, to))].focus();
  });
}

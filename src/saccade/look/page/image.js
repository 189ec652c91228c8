// The input image: it is clear where a word attends to; pointing at a region names the words that attend to it.
import { el, svg } from "saccade/dom";
import { byUse, strongest } from "saccade/fold";
import { overlaid } from "saccade/heatmap";
import { percent, visible } from "saccade/words";

const SIZE = 320;
const SIDE = 100;
/** Width and height of the SVG view box over the image, whatever its aspect ratio. */
const MOST = 5;
const HINT = "Point at a word, or at a region of the picture. A click on a region tells more.";

function told(picture, { row, column }) {
  if (column !== null) {
    const users = byUse(picture, column, MOST).map((r) =>
      `${visible(picture.rows[r].name)} ${percent(picture.at(r, column))}`);
    return `${picture.columns[column].name}: ${users.join(", ") || "no word looked there"}`;
  }
  if (row === null) return HINT;
  const [best] = strongest(picture, row, 1, 0);
  return `${visible(picture.rows[row].name)} looks most at ${picture.columns[best].name}: `
    + percent(picture.at(row, best));
}

/** Outlines over the image: the region under the pointer, blocked regions, and gold regions. */
function outlines(side, picture, light, blocked) {
  const [rows, columns] = side.grid;
  const [wide, high] = [SIDE / columns, SIDE / rows];
  const corner = (place) => ({ x: (place % columns) * wide, y: Math.floor(place / columns) * high });
  const cross = (place) => {
    const { x, y } = corner(place);
    return `M${x} ${y}l${wide} ${high}M${x + wide} ${y}l${-wide} ${high}`;
  };
  const closed = picture.columns.map((_, place) => place).filter(blocked);
  const gold = svg("g");
  const cursor = svg("rect", { class: "cursor", width: wide, height: high, visibility: "hidden" });
  light.listen(({ row, column }) => {
    const at = picture.own ? row : column;
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null) for (const [name, value] of Object.entries(corner(at))) cursor.setAttribute(name, value);
    const right = row === null || !picture.hasGold ? []
      : picture.columns.map((_, place) => place).filter((place) => picture.gold(row, place));
    gold.replaceChildren(...right.map((place) =>
      svg("rect", { class: "gold", ...corner(place), width: wide, height: high })));
  });
  return svg("svg", { class: "outlines", viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none",
    "aria-hidden": "true" },
  closed.map((place) => svg("rect", { class: "closed", ...corner(place), width: wide, height: high })),
  closed.map((place) => svg("path", { class: "cross", d: cross(place) })), gold, cursor);
}

/** Arrow keys move over the regions; Enter acts as a click. */
function steer(box, [rows, columns], point, at, open) {
  box.addEventListener("keydown", (event) => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const here = at();
    if (by) {
      event.preventDefault();
      const within = (value, size) => Math.max(0, Math.min(size - 1, value));
      const [row, column] = here === null ? [0, 0]
        : [within(Math.floor(here / columns) + by[0], rows), within((here % columns) + by[1], columns)];
      point(row * columns + column);
    } else if ((event.key === "Enter" || event.key === " ") && here !== null) {
      event.preventDefault();
      open(box, here);
    }
  });
}

/** A click calls `open(anchor, region)`, a shift-click `toggle(region)`; `blocked(region)` is true for masked regions. */
export function image(side, picture, light, { open, toggle, blocked }) {
  const [rows, columns] = side.grid;
  const { shown, show } = overlaid(side, SIZE);
  const point = (region) => light.set(...(picture.own ? [region, null] : [null, region]));
  const at = () => (picture.own ? light.row : light.column);
  light.listen(({ row }) => show(row === null ? null : picture.columns.map((_, place) => picture.at(row, place))));
  const box = el("div", { class: "image", tabindex: 0, role: "application", "data-arrows": true, "data-key": "image",
    "aria-label": `The picture, ${rows} rows and ${columns} columns of regions. Arrow keys move through them, `
      + "Enter tells more." }, shown, outlines(side, picture, light, blocked));
  const find = (event) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    const within = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value * size)));
    return within((event.clientY - top) / height, rows) * columns + within((event.clientX - left) / width, columns);
  };
  box.addEventListener("pointermove", (event) => point(find(event)));
  box.addEventListener("pointerleave", () => light.clear());
  box.addEventListener("blur", () => light.clear());
  box.addEventListener("click", (event) => {
    if (event.shiftKey) toggle(find(event));
    else open({ getBoundingClientRect: () => new DOMRect(event.clientX, event.clientY, 0, 0) }, find(event));
  });
  steer(box, side.grid, point, at, open);
  const readout = el("p", { class: "readout hint", "aria-live": "polite" }, HINT);
  light.listen((lit) => {
    readout.textContent = told(picture, lit).replaceAll(" %", "\u00a0%");
    readout.classList.toggle("hint", lit.row === null && lit.column === null);
  });
  return el("div", { class: "looking" }, box, readout);
}

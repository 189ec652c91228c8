// A lane that is an image: it stays clear where a word attends, and dark elsewhere.
import { el, svg } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { overlaid } from "saccade/lanes/heatmap";
import { byUse, draws, isSheet, strongest } from "saccade/trace/fold";

const SIZE = 320;
const SIDE = 100;
/** Width and height of the SVG view box over the image, whatever its aspect ratio. */
const MOST = 5;
const HINT = "Point at a word, or at a region of the image.";
const OWN = "Point at a place of the image to see where it attends; a click keeps it.";
const SHEET = "The query is at the top left. Bright examples are those that it attends to.";
const NONE = "There is no attention to be shown.";
const hintOf = (figure, site) => (!site ? NONE : figure.own ? OWN : isSheet(figure.side) ? SHEET : HINT);

function told({ figure, site }, { row, column }) {
  if (!site) return NONE;
  if (column !== null) {
    const users = byUse(figure, column, MOST).map((r) =>
      `${visible(figure.rows[r].name)} ${percent(figure.at(r, column))}`);
    return `${visible(figure.columns[column].name)}: ${users.join(", ") || "no word attends to it"}`;
  }
  if (row === null || row >= figure.rows.length) return hintOf(figure, site);
  const [best] = strongest(figure, row, 1, 0);
  const reader = isSheet(figure.side) ? "The query" : visible(figure.rows[row].name);
  return `${reader} attends most to ${visible(figure.columns[best].name)}: `
    + percent(figure.at(row, best));
}

/** Outlines over the image: the region pointed at, hidden regions, and gold regions. */
function outlines(figure, hidden) {
  const [rows, columns] = figure.side.grid;
  const [wide, high] = [SIDE / columns, SIDE / rows];
  const corner = (place) => ({ x: (place % columns) * wide, y: Math.floor(place / columns) * high });
  const cross = (place) => {
    const { x, y } = corner(place);
    return `M${x} ${y}l${wide} ${high}M${x + wide} ${y}l${-wide} ${high}`;
  };
  const closed = figure.columns.map((_, place) => place).filter((place) => hidden(figure.columns[place]));
  const gold = svg("g");
  const cursor = svg("rect", { class: "cursor", width: wide, height: high, visibility: "hidden" });
  const light = (at, row) => {
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null) for (const [name, value] of Object.entries(corner(at))) cursor.setAttribute(name, value);
    const right = row === null || !figure.hasGold ? []
      : figure.columns.map((_, place) => place).filter((place) => figure.gold(row, place));
    gold.replaceChildren(...right.map((place) =>
      svg("rect", { class: "gold", ...corner(place), width: wide, height: high })));
  };
  const element = svg("svg", { class: "outlines", viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none",
    "aria-hidden": "true" },
  closed.map((place) => svg("rect", { class: "closed", ...corner(place), width: wide, height: high })),
  closed.map((place) => svg("path", { class: "cross", d: cross(place) })), gold, cursor);
  return { element, light };
}

/** Arrow keys move over the regions; Enter chooses one. */
export function steer(box, [rows, columns], point, at, pick) {
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
      pick(here);
    }
  });
}

/** A lane of the regions of an image; see lanes/table.js. */
export function imageLane({ answer, light, point, leave, pick, alone }) {
  const { figure, hand } = answer;
  const { side } = figure;
  const [rows, columns] = side.grid;
  const { shown, show } = overlaid(side, SIZE);
  if (draws(answer.trace)) shown.classList.add("pixels"); // small images, enlarged
  const over = outlines(figure, (region) => hand.hidden(region));
  const at = () => (alone ? light.row : light.column);
  const box = el("div", { class: "image", tabindex: 0, role: "application", "data-arrows": true, "data-key": "image",
    "aria-label": `The image, ${rows} rows and ${columns} columns of regions. Arrow keys move through them, `
      + "Enter selects one." }, shown, over.element);
  const find = (event) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    const within = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value * size)));
    return within((event.clientY - top) / height, rows) * columns + within((event.clientX - left) / width, columns);
  };
  box.addEventListener("pointermove", (event) => point(find(event)));
  box.addEventListener("pointerleave", leave);
  box.addEventListener("blur", leave);
  box.addEventListener("click", (event) => pick(find(event)));
  steer(box, side.grid, point, at, pick);
  const readout = el("p", { class: "readout hint" }, hintOf(figure, answer.site));
  return {
    element: el("div", { class: "lane looking" }, box, readout),
    layout: "beside", faint: true,
    light: (weights, pointed, row) => {
      show(weights);
      over.light(pointed, row);
      readout.textContent = told(answer, light).replaceAll(" %", "\u00a0%");
      readout.classList.toggle("hint", light.empty);
    },
  };
}

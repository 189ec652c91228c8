// A lane that is an image with the path of a model of glimpses; a click sets the place of one.
import { el, svg } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { steer } from "saccade/lanes/image";

const SIDE = 100;
/** Width and height of the SVG view box over the image. */
const DOT = 3.4;
const LISTED = 3;

const middle = ([left, top, right, bottom]) => [(left + right) * SIDE / 2, (top + bottom) * SIDE / 2];
const rect = (name, [left, top, right, bottom]) => svg("rect", { class: name, x: left * SIDE, y: top * SIDE,
  width: (right - left) * SIDE, height: (bottom - top) * SIDE });

/** The boxes of every glimpse, the finest one apart, and its number; {element, light(row)}. */
function path(boxes) {
  const spots = boxes.map(([fine]) => middle(fine));
  const groups = boxes.map(([fine, ...coarse], row) => svg("g", { class: "glimpse" },
    coarse.map((box) => rect("coarse", box)), rect("fine", fine), svg("circle", { cx: spots[row][0], cy: spots[row][1], r: DOT }),
    svg("text", { x: spots[row][0], y: spots[row][1] }, String(row + 1))));
  const cursor = svg("rect", { class: "cursor", visibility: "hidden" });
  const way = svg("polyline", { class: "way", points: spots.map((spot) => spot.join(",")).join(" ") });
  const element = svg("svg", { class: "outlines path", viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none",
    "aria-hidden": "true" }, way, groups, cursor);
  return { element, cursor, light: (row) => {
    groups.forEach((group, place) => group.classList.toggle("on", place === row));
    if (row !== null && groups[row]) element.insertBefore(groups[row], cursor); // above the others
  } };
}

function told({ trace }, row) {
  const step = trace.steps[row ?? trace.steps.length - 1];
  const beliefs = step.candidates.slice(0, LISTED).map(([, label, score]) => `${visible(label)} ${percent(Math.exp(score))}`);
  return `${row === null ? "At the end" : `After glimpse ${row + 1}`}: ${beliefs.join(", ")}`;
}

/** A lane of the glimpses of an image; see lanes/table.js. */
export function glimpseLane({ answer, light }) {
  const { figure, hand, trace } = answer;
  const { side } = figure;
  const [rows, columns] = side.grid;
  const drawn = path(trace.glimpses.boxes);
  let here = null;
  const move = (place) => {
    here = place;
    const corner = { x: (place % columns) * SIDE / columns, y: Math.floor(place / columns) * SIDE / rows,
      width: SIDE / columns, height: SIDE / rows, visibility: "visible" };
    for (const [name, value] of Object.entries(corner)) drawn.cursor.setAttribute(name, String(value));
  };
  const look = (place) => {
    const row = light.row ?? Math.min(1, figure.rows.length - 1);
    if (hand.canPull) hand.look(figure.rows[row], figure.columns[place]);
  };
  const hint = hand.canPull ? "Select a glimpse, then click where it is to look." : "";
  const box = el("div", { class: "image", tabindex: 0, role: "application", "data-arrows": true, "data-key": "image",
    "aria-label": `The image with ${trace.glimpses.boxes.length} glimpses. ${hint} Arrow keys move through its regions, `
      + "Enter selects one." }, el("span", { class: "overlaid pixels" }, el("img", { src: side.image, alt: "" })), drawn.element);
  const find = (event) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    const within = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value * size)));
    return within((event.clientY - top) / height, rows) * columns + within((event.clientX - left) / width, columns);
  };
  box.addEventListener("pointermove", (event) => move(find(event)));
  box.addEventListener("pointerleave", () => drawn.cursor.setAttribute("visibility", "hidden"));
  box.addEventListener("click", (event) => look(find(event)));
  steer(box, side.grid, move, () => here, look);
  const readout = el("p", { class: "readout" });
  return {
    element: el("div", { class: "lane looking" }, box, readout, hint && el("p", { class: "quiet" }, hint)),
    layout: "beside", faint: true,
    light: (_weights, _pointed, row) => {
      drawn.light(row);
      readout.textContent = told(answer, row).replaceAll(" %", "\u00a0%");
    },
  };
}

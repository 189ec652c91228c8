// The alignment matrix: target rows, source columns, darker for higher weights. Labels stay visible while it scrolls.
import { el, svg } from "saccade/base/dom";
import { inkOf } from "saccade/base/theme";
import { breadth, clip, visible } from "saccade/base/format";

const FAINTEST = 0.005;
const MANY = 2500;
/** Cells: a larger matrix is painted on a canvas, one pixel per cell. */
const LETTERS = 18;
const HATCH = 8;
/** Pixels between the lines over a hidden column. */

class Axis {
  /** Positions along one side, with a gap of one cell before the entries set apart. */
  constructor(entries, apart, cell) {
    this.entries = entries;
    this.apart = apart;
    this.cell = cell;
    this.count = entries.length;
    this.gap = apart > 0 && apart < entries.length ? 1 : 0;
    this.length = (entries.length + this.gap) * cell;
  }

  slot(place) {
    return place >= this.apart ? place + this.gap : place;
  }

  start(place) {
    return this.slot(place) * this.cell;
  }

  find(pixels) {
    const slot = Math.floor(pixels / this.cell);
    if (this.gap && slot === this.apart) return null;
    const place = this.gap && slot > this.apart ? slot - 1 : slot;
    return place >= 0 && place < this.count ? place : null;
  }
}

const [SMALLEST, HANDY, LARGEST, WIDEST] = [12, 22, 44, 120];
const longest = (entries) => Math.max(3, ...entries.map((entry) => breadth(clip(visible(entry.name), LETTERS))));

/** Width and height of the cells: the width that there is, and the height of the window unless they would be small. */
function cellSize(figure, room) {
  const across = (room - 11 * longest(figure.rows) - 20) / (figure.columns.length + 1);
  const down = Math.max(HANDY, (0.66 * innerHeight) / (figure.rows.length + 4));
  const limits = (size, most) => Math.floor(Math.max(SMALLEST, Math.min(most, size)));
  const high = limits(Math.min(across, down), LARGEST);
  return [limits(across, Math.min(WIDEST, 3 * high)), high];
}

function painted(figure, across, down) {
  const [width, height] = [across.length / across.cell, down.length / down.cell];
  const canvas = el("canvas", { class: "cells-drawn", width, height,
    css: { width: `${across.length}px`, height: `${down.length}px` } });
  const pixels = new ImageData(Math.max(1, width), Math.max(1, height));
  const [red, green, blue] = inkOf();
  figure.rows.forEach((_, r) => figure.columns.forEach((_column, c) => {
    const at = 4 * (down.slot(r) * width + across.slot(c));
    pixels.data.set([red, green, blue, Math.round(255 * Math.min(1, figure.at(r, c)))], at);
  }));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

function gridLines(across, down) {
  const lines = [];
  for (let c = 0; c < across.count; c += 1) for (const x of [across.start(c),
    across.start(c) + across.cell]) lines.push(`M${x} 0V${down.length}`);
  for (let r = 0; r < down.count; r += 1) for (const y of [down.start(r),
    down.start(r) + down.cell]) lines.push(`M0 ${y}H${across.length}`);
  return svg("path", { class: "grid-lines", d: lines.join("") });
}

function drawn(figure, across, down) {
  const shown = svg("svg", { class: "cells-drawn", width: across.length, height: down.length, "aria-hidden": "true" },
    gridLines(across, down));
  figure.rows.forEach((_, r) => figure.columns.forEach((_column, c) => {
    const weight = Math.min(1, figure.at(r, c));
    if (weight < FAINTEST) return;
    shown.append(svg("rect", { class: "cell", x: across.start(c) + 0.5, y: down.start(r) + 0.5, width: across.cell - 1,
      height: down.cell - 1, "fill-opacity": weight.toFixed(3) }));
  }));
  return shown;
}

/** Marks of what was changed by hand: hidden columns are hatched, cells with a weight set by hand have a corner. */
function touched(figure, across, down, hand) {
  const marks = [];
  figure.columns.forEach((entry, c) => {
    if (!hand.hidden(entry)) return;
    const [x, wide] = [across.start(c), across.cell];
    const lines = Array.from({ length: Math.ceil((down.length + wide) / HATCH) }, (_, line) => {
      const y = line * HATCH - wide;
      const [from, to] = [Math.max(0, -y), Math.min(wide, down.length - y)];
      return from < to ? `M${x + from} ${y + from}L${x + to} ${y + to}` : "";
    });
    marks.push(svg("path", { class: "hidden-column", d: lines.join("") }));
  });
  figure.rows.forEach((row, r) => figure.columns.forEach((column, c) => {
    if (!hand.pulled(row, column)) return;
    const [x, y, corner] = [across.start(c) + 1, down.start(r) + 1, Math.min(11, down.cell / 2)];
    marks.push(svg("g", { class: "pulled" }, svg("rect", { x, y, width: across.cell - 2, height: down.cell - 2 }),
      svg("path", { d: `M${x} ${y}h${corner}l${-corner} ${corner}z` })));
  }));
  return marks;
}

function bands(figure, across, down, light, pick, hand) {
  const band = (name) => svg("rect", { class: `band ${name}`, width: across.length, height: down.length,
    visibility: "hidden" });
  const [row, column] = [band("row-band"), band("column-band")];
  const shown = svg("svg", { class: "overlay", width: across.length, height: down.length, "aria-hidden": "true" });
  if (figure.hasGold) {
    figure.rows.forEach((_, r) => figure.columns.forEach((_column, c) => {
      if (!figure.gold(r, c)) return;
      const inset = Math.max(1.5, Math.min(across.cell, down.cell) * 0.12);
      shown.append(svg("rect", { class: "gold", x: across.start(c) + inset, y: down.start(r) + inset,
        width: across.cell - 2 * inset, height: down.cell - 2 * inset }));
    }));
  }
  if (!figure.own) shown.append(...touched(figure, across, down, hand));
  if (pick) {
    shown.append(svg("rect", { class: "picked", x: across.start(pick.column) + 1, y: down.start(pick.row) + 1,
      width: across.cell - 2, height: down.cell - 2 }));
  }
  shown.append(row, column);
  light.listen((lit) => {
    row.setAttribute("visibility", lit.row === null ? "hidden" : "visible");
    column.setAttribute("visibility", lit.column === null ? "hidden" : "visible");
    if (lit.row !== null) Object.entries({ y: down.start(lit.row), height: down.cell }).forEach((pair) =>
      row.setAttribute(...pair));
    if (lit.column !== null) Object.entries({ x: across.start(lit.column), width: across.cell }).forEach((pair) =>
      column.setAttribute(...pair));
  });
  return shown;
}

/** Labels of one side, highlighted with their row or column. */
function labels(axis, kind, light, place) {
  const font = Math.min(16, axis.cell * 0.8);
  const names = axis.entries.map((entry) => clip(visible(entry.name), LETTERS));
  const long = Math.max(2, ...names.map(breadth)) * font * 0.68 + 14; // room for a bold name
  const upright = kind === "row";
  const flat = !upright && long <= axis.cell;
  const lean = Math.sin(Math.PI / 3.6);
  const [width, height] = upright ? [long, axis.length] : flat ? [axis.length, 2 * font]
    : [axis.length + long * 0.7, long * lean + font];
  const shown = svg("svg", { class: `labels ${kind}-labels`, width, height, "aria-hidden": "true" });
  const texts = names.map((name, number) => {
    const middle = axis.start(number) + axis.cell / 2;
    const where = upright ? { x: long - 8, y: middle, "text-anchor": "end", "dominant-baseline": "central" }
      : flat ? { x: middle, y: height - 8, "text-anchor": "middle" } : { transform: `translate(${middle + font * 0.3} ${height - 6}) rotate(-50)` };
    return svg("text", { ...where, class: axis.entries[number].sink ? "sink" : null, "font-size": font,
      direction: /[\u0590-\u08ff]/.test(name) ? "rtl" : null }, name);
  });
  shown.append(...texts);
  shown.addEventListener("pointermove", (event) => {
    const box = shown.getBoundingClientRect();
    light.set(...place(axis.find(upright ? event.clientY - box.top : event.clientX - box.left)));
  });
  shown.addEventListener("pointerleave", () => light.clear());
  light.listen((lit) => texts.forEach((label, number) => label.classList.toggle("on", lit[kind] === number)));
  return shown;
}

/** Arrow keys move a cursor over the cells; Enter acts as a click. */
function steer(box, figure, light, open) {
  box.addEventListener("keydown", (event) => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (by) {
      event.preventDefault();
      const fresh = light.row === null && light.column === null;
      const within = (value, size) => Math.max(0, Math.min(size - 1, value));
      light.set(within(fresh ? 0 : (light.row ?? 0) + by[0], figure.rows.length),
        within(fresh ? 0 : (light.column ?? 0) + by[1], figure.columns.length));
      box.querySelector(".row-band").scrollIntoView?.({ block: "nearest", inline: "nearest" });
    } else if ((event.key === "Enter" || event.key === " ") && light.row !== null && light.column !== null) {
      event.preventDefault();
      open(light.row, light.column);
    }
  });
  box.addEventListener("blur", () => light.clear());
}

function legend(figure, marks) {
  const shades = Array.from({ length: 11 }, (_, step) =>
    svg("rect", { class: "cell", x: 10 * step, width: 10, height: 12, "fill-opacity": step / 10 }));
  const scale = svg("svg", { class: "scale", width: 110, height: 12, "aria-hidden": "true" }, shades);
  return el("p", { class: "legend" }, el("span", {}, "0"), scale, el("span", {}, "100 % of a row’s attention"),
    figure.hasGold && [el("span", { class: "gold-key", "aria-hidden": "true" }),
      el("span", {}, "gold: where it should attend")],
    marks.length > 0 && el("span", { class: "by-hand" }, "hatched: hidden; with a corner: set by hand"));
}

/**
 * Draw the matrix; a click calls `open` with a row and a column. `room`: pixels of width; `of`: the answer's place;
 * `hand` knows what was changed.
 */
export function matrix(figure, { light, of, room, open, pick, hand }) {
  if (!figure.rows.length || !figure.columns.length) return el("p", { class: "quiet" },
    "There are no words left to show. Show ends and punctuation again.");
  const [wide, high] = cellSize(figure, room);
  const across = new Axis(figure.columns, figure.columnsApart, wide);
  const down = new Axis(figure.rows, figure.rowsApart, high);
  const mine = { listen: (act) => light.listen((lit) => act(lit.of === of || lit.row === null ? lit
    : { row: null, column: lit.column })), set: (row, column) => light.set(row, column, of),
  clear: () => light.clear(), get row() { return light.of === of ? light.row : null; },
  get column() { return light.column; } };
  const large = across.count * down.count > MANY;
  const cells = el("div", { class: "cells", css: { width: `${across.length}px`, height: `${down.length}px` } },
    (large ? painted : drawn)(figure, across, down), bands(figure, across, down, mine, pick, hand));
  const find = (event) => {
    const box = cells.getBoundingClientRect();
    return [down.find(event.clientY - box.top), across.find(event.clientX - box.left)];
  };
  cells.addEventListener("pointermove", (event) => mine.set(...find(event)));
  cells.addEventListener("pointerleave", () => mine.clear());
  cells.addEventListener("click", (event) => {
    const [row, column] = find(event);
    if (row !== null && column !== null) open(row, column);
  });
  const box = el("div", { class: "matrix", tabindex: 0, role: "application", "data-arrows": true,
    "data-key": `matrix-${of}`, "data-scroll": `matrix-${of}`,
    "aria-label": `Matrix, ${down.count} rows that attend, ${across.count} columns that are attended to. `
      + "Arrow keys move through the cells, Enter selects one." },
  el("div", { class: "corner" }, el("span", {}, "wrote ↓ / read →")),
  labels(across, "column", mine, (place) => [null, place]),
  labels(down, "row", mine, (place) => [place, null]), cells);
  steer(box, figure, mine, open);
  return el("div", { class: "matrix-view" }, box, legend(figure, cells.querySelectorAll(".hidden-column, .pulled")));
}

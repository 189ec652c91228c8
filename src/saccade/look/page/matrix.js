// The alignment matrix: target rows, source columns, darker for higher weights. Labels stay visible while it scrolls.
import { el, svg } from "saccade/dom";
import { inkOf } from "saccade/theme";
import { breadth, clip, percent, visible } from "saccade/words";

const FAINTEST = 0.004;
const MANY = 2500;
/** Cells: a larger matrix is painted on a canvas, one pixel per cell. */
const LETTERS = 18;

class Axis {
  /** Positions along one side, with a gap of one cell before the entries set apart. */
  constructor(entries, apart, cell) {
    Object.assign(this, { entries, apart, cell, count: entries.length });
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

function cellSize(picture) {
  const most = Math.max(picture.rows.length, picture.columns.length);
  return most <= 18 ? 34 : most <= 40 ? 26 : most <= 80 ? 19 : 14;
}

function painted(picture, across, down) {
  const [width, height] = [across.length / across.cell, down.length / down.cell];
  const canvas = el("canvas", { class: "cells-drawn", width, height,
    css: { width: `${across.length}px`, height: `${down.length}px` } });
  const pixels = new ImageData(Math.max(1, width), Math.max(1, height));
  const [red, green, blue] = inkOf();
  picture.rows.forEach((_, r) => picture.columns.forEach((_column, c) => {
    const at = 4 * (down.slot(r) * width + across.slot(c));
    pixels.data.set([red, green, blue, Math.round(255 * Math.min(1, picture.at(r, c)))], at);
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

function drawn(picture, across, down) {
  const shown = svg("svg", { class: "cells-drawn", width: across.length, height: down.length, "aria-hidden": "true" },
    gridLines(across, down));
  picture.rows.forEach((_, r) => picture.columns.forEach((_column, c) => {
    const weight = Math.min(1, picture.at(r, c));
    if (weight < FAINTEST) return;
    shown.append(svg("rect", { class: "cell", x: across.start(c) + 0.5, y: down.start(r) + 0.5, width: across.cell - 1,
      height: down.cell - 1, "fill-opacity": weight.toFixed(3) }));
  }));
  return shown;
}

function overlay(picture, across, down, light) {
  const band = (name) => svg("rect", { class: `band ${name}`, width: across.length, height: down.length,
    visibility: "hidden" });
  const [row, column] = [band("row-band"), band("column-band")];
  const shown = svg("svg", { class: "overlay", width: across.length, height: down.length, "aria-hidden": "true" });
  if (picture.hasGold) {
    picture.rows.forEach((_, r) => picture.columns.forEach((_column, c) => {
      if (!picture.gold(r, c)) return;
      const inset = Math.max(1.5, across.cell * 0.12);
      shown.append(svg("rect", { class: "gold", x: across.start(c) + inset, y: down.start(r) + inset,
        width: across.cell - 2 * inset, height: down.cell - 2 * inset }));
    }));
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
  const font = Math.min(14, axis.cell * 0.8);
  const names = axis.entries.map((entry) => clip(visible(entry.name), LETTERS));
  const long = Math.max(2, ...names.map(breadth)) * font * 0.6 + 12;
  const upright = kind === "row";
  const lean = Math.sin(Math.PI / 3.6);
  const [width, height] = upright ? [long, axis.length] : [axis.length + long * 0.65, long * lean + font];
  const shown = svg("svg", { class: `labels ${kind}-labels`, width, height, "aria-hidden": "true" });
  const texts = names.map((name, number) => {
    const middle = axis.start(number) + axis.cell / 2;
    const where = upright ? { x: long - 8, y: middle, "text-anchor": "end", "dominant-baseline": "central" }
      : { transform: `translate(${middle + font * 0.3} ${height - 6}) rotate(-50)` };
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
function steer(box, picture, light, open) {
  box.addEventListener("keydown", (event) => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (by) {
      event.preventDefault();
      const fresh = light.row === null && light.column === null;
      const within = (value, size) => Math.max(0, Math.min(size - 1, value));
      light.set(within(fresh ? 0 : (light.row ?? 0) + by[0], picture.rows.length),
        within(fresh ? 0 : (light.column ?? 0) + by[1], picture.columns.length));
      box.querySelector(".row-band").scrollIntoView?.({ block: "nearest", inline: "nearest" });
    } else if ((event.key === "Enter" || event.key === " ") && light.row !== null && light.column !== null) {
      event.preventDefault();
      open(box, light.row, light.column);
    }
  });
  box.addEventListener("blur", () => light.clear());
}

function legend(picture) {
  const shades = Array.from({ length: 11 }, (_, step) =>
    svg("rect", { class: "cell", x: 10 * step, width: 10, height: 12, "fill-opacity": step / 10 }));
  const scale = svg("svg", { class: "scale", width: 110, height: 12, "aria-hidden": "true" }, shades);
  return el("p", { class: "legend" }, el("span", {}, "0"), scale, el("span", {}, "100 % of a row"),
    picture.hasGold && [el("span", { class: "gold-key", "aria-hidden": "true" }),
      el("span", {}, "where it should look")]);
}

/** Draw the matrix; a click calls `open` with an anchor, a row and a column. */
export function matrix(picture, light, open) {
  if (!picture.rows.length || !picture.columns.length) return el("p", { class: "quiet" },
    "There are no words left to show. Show marks and punctuation again.");
  const cell = cellSize(picture);
  const across = new Axis(picture.columns, picture.columnsApart, cell);
  const down = new Axis(picture.rows, picture.rowsApart, cell);
  const large = across.count * down.count > MANY;
  const cells = el("div", { class: "cells", css: { width: `${across.length}px`, height: `${down.length}px` } },
    (large ? painted : drawn)(picture, across, down), overlay(picture, across, down, light));
  const find = (event) => {
    const box = cells.getBoundingClientRect();
    return [down.find(event.clientY - box.top), across.find(event.clientX - box.left)];
  };
  cells.addEventListener("pointermove", (event) => light.set(...find(event)));
  cells.addEventListener("pointerleave", () => light.clear());
  cells.addEventListener("click", (event) => {
    const [row, column] = find(event);
    if (row !== null && column !== null) open({ getBoundingClientRect: () =>
      new DOMRect(event.clientX, event.clientY, 0, 0) }, row, column);
  });
  const readout = el("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
  light.listen(({ row, column }) => {
    readout.textContent = row === null || column === null ? "\u00a0"
      : `${visible(picture.rows[row].name)} looks at ${visible(picture.columns[column].name)}: `
        + percent(picture.at(row, column));
  });
  const box = el("div", { class: "matrix", tabindex: 0, role: "application", "data-arrows": true, "data-key": "matrix",
    "data-scroll": "matrix",
    "aria-label": `Matrix, ${down.count} rows that look, ${across.count} columns that are looked at. `
      + "Arrow keys move through the cells." },
  el("div", { class: "corner" }), labels(across, "column", light, (place) => [null, place]),
  labels(down, "row", light, (place) => [place, null]), cells);
  steer(box, picture, light, open);
  return el("div", { class: "matrix-view" }, box, el("div", { class: "under" }, readout, legend(picture)));
}

// What lenses show of an image: a small one for each written word, clear where that word attends to, and one for each head.
import { button, el, roving, svg } from "saccade/base/dom";
import { figureOf, strongest } from "saccade/trace/fold";
import { overlaid } from "saccade/lanes/heatmap";
import { percent, visible } from "saccade/base/format";

const [SIZE, SMALL] = [168, 96];
const FAINTEST = 0.3;
/** Opacity of a tile whose word does not attend to the region under the pointer. */

const EVERY = 4;
/** Places of an image in a row, and rows of them, that have a tile of their own. */

/** Places that lie evenly over a grid. */
function spread(grid) {
  const [down, across] = grid.map((size) => [...Array(Math.min(EVERY, size)).keys()].map((step) =>
    Math.floor((step + 0.5) * size / Math.min(EVERY, size))));
  return down.flatMap((row) => across.map((column) => row * grid[1] + column));
}

/** A frame around the place that attends. */
function frame([rows, columns], place) {
  return svg("svg", { class: "outlines", viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "cursor", x: place % columns, y: Math.floor(place / columns), width: 1, height: 1 }));
}

function tile(side, figure, row, light, open) {
  const { shown, show } = overlaid(side, SIZE);
  if (figure.own) {
    shown.classList.add("pixels");
    shown.append(frame(side.grid, row));
  }
  show(figure.columns.map((_, place) => figure.at(row, place)));
  const [best] = strongest(figure, row, 1, 0);
  const share = percent(figure.at(row, best));
  const { name, sink } = figure.rows[row];
  const columns = side.grid[1];
  const short = figure.own ? `${Math.floor(row / columns) + 1}, ${(row % columns) + 1}` : visible(name);
  return button([el("span", { class: "tile-name" }, el("span", { class: sink ? "quiet" : null, dir: "auto" },
    short), el("span", { class: "number quiet" }, share)), shown],
  () => open(row), { class: "tile", "data-key": `tile-${row}`,
    "aria-label": `${visible(name)}: attends most to ${visible(figure.columns[best].name)}, ${share}`,
    on: { pointerenter: () => light.set(row, null), focus: () => light.set(row, null),
      pointerleave: () => light.clear(), blur: () => light.clear() } });
}

/** Draw a tile for each word; a click calls `open` with its row. */
function tiles(figure, { light, open }) {
  if (!figure.rows.length) return el("p", { class: "quiet" },
    "There are no words left to show. Show ends and punctuation again.");
  const rows = figure.rows.map((_, row) => row).filter((row) => !figure.own || spread(figure.side.grid).includes(row));
  const made = rows.map((row) => tile(figure.side, figure, row, light, open));
  light.listen(({ row, column }) => {
    const used = rows.map((each) => (row === null && column !== null ? figure.at(each, column) : 1));
    const most = Math.max(1e-9, ...used); // the weights of one region are small, so they are divided by their maximum
    made.forEach((each, place) => {
      each.classList.toggle("on", rows[place] === row);
      each.style.opacity = (FAINTEST + (1 - FAINTEST) * (used[place] / most)).toFixed(3);
    });
  });
  const group = el("div", { class: "tiles", role: "group", "aria-label": figure.own ? "An image for some places" : "An image for each word" }, made);
  roving(group, ".tile");
  return el("div", { class: "overlay-view" }, group,
    el("p", { class: "legend" }, figure.own && "Row and column of the place that attends, in the frame. ", "Clear: attended to. The line: half of the maximum. "
      + `%: the strongest of ${figure.side.grid.join(" × ")} regions.`));
}

/** The image for a head: the weights of the word under the pointer, or the sum over all words. */
function thumbnail(trace, site, options, light) {
  const side = trace.sides.get(site.columns);
  const figure = figureOf(trace, site, options);
  const { shown, show } = overlaid(side, SMALL, 1);
  const whole = (place) => figure.rows.reduce((sum, _, row) => sum + figure.at(row, place), 0);
  const paint = (row) => show(side.tokens.map((_, place) => (row === null ? whole(place) : figure.at(row, place))));
  paint(null);
  light.listen(({ row }) => paint(row));
  return shown;
}

/** Regions of an image; see lanes/table.js. */
export const imageView = { part: "region", most: 12, least: 0, lines: tiles, thumbnail };

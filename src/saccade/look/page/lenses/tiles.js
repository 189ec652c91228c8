// A small image for each written word: the input image, clear where that word attends to.
import { button, el, roving } from "saccade/base/dom";
import { strongest } from "saccade/trace/fold";
import { overlaid } from "saccade/lanes/heatmap";
import { percent, visible } from "saccade/base/format";

const SIZE = 168;
const FAINTEST = 0.3;
/** Opacity of a tile whose word does not attend to the region under the pointer. */

function tile(side, figure, row, light, open) {
  const { shown, show } = overlaid(side, SIZE);
  show(figure.columns.map((_, place) => figure.at(row, place)));
  const [best] = strongest(figure, row, 1, 0);
  const share = percent(figure.at(row, best));
  const { name, sink } = figure.rows[row];
  return button([el("span", { class: "tile-name" }, el("span", { class: sink ? "quiet" : null, dir: "auto" },
    visible(name)), el("span", { class: "number quiet" }, share)), shown],
  () => open(row), { class: "tile", "data-key": `tile-${row}`,
    "aria-label": `${visible(name)}: attends most to ${figure.columns[best].name}, ${share}`,
    on: { pointerenter: () => light.set(row, null), focus: () => light.set(row, null),
      pointerleave: () => light.clear(), blur: () => light.clear() } });
}

/** Draw a tile for each word; a click calls `open` with its row. */
export function tiles(figure, { light, open }) {
  if (figure.own) return el("p", { class: "quiet" },
    "Here regions attend to regions: point at one in the image to see what it attends to.");
  if (!figure.rows.length) return el("p", { class: "quiet" },
    "There are no words left to show. Show ends and punctuation again.");
  const made = figure.rows.map((_, row) => tile(figure.side, figure, row, light, open));
  light.listen(({ row, column }) => {
    const used = made.map((_, place) => (row === null && column !== null ? figure.at(place, column) : 1));
    const most = Math.max(1e-9, ...used); // the weights of one region are small, so they are divided by their maximum
    made.forEach((each, place) => {
      each.classList.toggle("on", place === row);
      each.style.opacity = (FAINTEST + (1 - FAINTEST) * (used[place] / most)).toFixed(3);
    });
  });
  const group = el("div", { class: "tiles", role: "group", "aria-label": "An image for each word" }, made);
  roving(group, ".tile");
  return el("div", { class: "overlay-view" }, group,
    el("p", { class: "legend" }, "Clear: attended to. The line: half of the maximum. "
      + `%: the strongest of ${figure.side.grid.join(" × ")} regions.`));
}

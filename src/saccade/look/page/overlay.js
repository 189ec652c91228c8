// A panel for each target word: the input image, clear where that word attends to.
import { button, el, roving } from "saccade/dom";
import { strongest } from "saccade/fold";
import { overlaid } from "saccade/heatmap";
import { percent, visible } from "saccade/words";

const SIZE = 168;
const FAINTEST = 0.3;
/** Opacity of a panel whose word does not attend to the region under the pointer. */

function tile(side, picture, row, light, open) {
  const { shown, show } = overlaid(side, SIZE);
  show(picture.columns.map((_, place) => picture.at(row, place)));
  const [best] = strongest(picture, row, 1, 0);
  const share = percent(picture.at(row, best));
  const { name, sink } = picture.rows[row];
  return button([el("span", { class: "tile-name" }, el("span", { class: sink ? "quiet" : null, dir: "auto" },
    visible(name)), el("span", { class: "number quiet" }, share)), shown],
  (event) => open(event.currentTarget, row), { class: "tile", "data-key": `tile-${row}`, "aria-haspopup": "dialog",
    "aria-label": `${visible(name)}: looks most at ${picture.columns[best].name}, ${share}`,
    on: { pointerenter: () => light.set(row, null), focus: () => light.set(row, null),
      pointerleave: () => light.clear(), blur: () => light.clear() } });
}

/** Draw the panels; a click calls `open` with a panel and its row. */
export function overlay(side, picture, light, open) {
  if (picture.own) return el("p", { class: "quiet" },
    "Here regions look at regions: point at one in the picture to see what it looks at.");
  if (!picture.rows.length) return el("p", { class: "quiet" },
    "There are no words left to show. Show marks and punctuation again.");
  const tiles = picture.rows.map((_, row) => tile(side, picture, row, light, open));
  light.listen(({ row, column }) => {
    const used = tiles.map((_, place) => (row === null && column !== null ? picture.at(place, column) : 1));
    const most = Math.max(1e-9, ...used); // the weights of one region are small, so they are divided by their maximum
    tiles.forEach((each, place) => {
      each.classList.toggle("on", place === row);
      each.style.opacity = (FAINTEST + (1 - FAINTEST) * (used[place] / most)).toFixed(3);
    });
  });
  const group = el("div", { class: "tiles", role: "group", "aria-label": "A panel for each word" }, tiles);
  roving(group, ".tile");
  return el("div", { class: "overlay-view" }, group,
    el("p", { class: "legend" }, "Clear: looked at. The line: half as much as the most. "
      + `%: what the strongest of ${side.grid.join(" × ")} regions got.`));
}

// Reading: a line for each word; the word itself is red, the words it attends to are bluer for higher weights.
// Like figure 1 of Cheng et al. 2016, arXiv:1601.06733.
import { el } from "saccade/dom";
import { percent, visible } from "saccade/words";

const MOST = 400;

/** True if no word attends to later words; then each line ends with its word. */
function onlyBack(picture) {
  return picture.rows.every((row, r) => picture.columns.every((column, c) =>
    column.places[0] <= row.places.at(-1) || picture.at(r, c) < 0.001));
}

function line(picture, row, own, back, light) {
  const entry = picture.rows[row];
  const parts = [];
  picture.columns.forEach((column, c) => {
    // decoder inputs are shifted by one position: stop before the word itself, which is added at the end
    if (back && column.places[0] > (own ? entry.places.at(-1) : entry.places[0])) return;
    const current = own && column.places[0] === entry.places[0];
    const weight = picture.at(row, c);
    parts.push(el("span", { class: current ? "seen current" : "seen", dir: "auto", title: percent(weight),
      css: { "--look": Math.min(1, weight).toFixed(3) } }, visible(column.name)), " ");
  });
  if (!own) parts.push(el("span", { class: "seen current", dir: "auto" }, visible(entry.name)));
  return el("li", { on: { pointerenter: () => light.set(row, null), pointerleave: () => light.clear() } }, parts);
}

export function reading(picture, site, light) {
  const own = site.rows === site.columns;
  const back = onlyBack(picture);
  const lines = picture.rows.slice(0, MOST).map((_, row) => line(picture, row, own, back, light));
  const more = picture.rows.length - MOST;
  return el("div", { class: "reading-view" },
    el("p", { class: "quiet" }, `One line for each word ${own ? "read" : "written"}: `,
      "the word is red, those it looked at are the bluer the more."),
    el("ol", { class: "reading", tabindex: 0, "aria-label": "Lines, one for each word", "data-scroll": "reading" },
      lines),
    more > 0 && el("p", { class: "quiet" }, `The last ${more} lines are left out here; the matrix has them.`));
}

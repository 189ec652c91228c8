// The words lens: a line for each word that attends, with the words that it attends to.
// For self-attention it is the figure of Cheng et al. 2016, arXiv:1601.06733: each line repeats the text up to its word.
import { button, el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { looksBack, strongest, sureness } from "saccade/trace/fold";
import { viewOf } from "saccade/lanes/table";

const MOST = 400;
const LISTED = 3;
const LEAST = 0.01;
/** The least weight that is listed. */

function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

function listed(answer, { light, select, several }) {
  const { figure, trace, site, of } = answer;
  const writes = !site || site.rows === "target";
  const lines = figure.rows.slice(0, MOST).map((entry, row) => {
    const sure = writes ? sureness(trace, entry) : null;
    const places = strongest(figure, row, several ? 1 : LISTED, LEAST);
    return el("tr", { on: { pointerenter: () => light.set(row, null, of), pointerleave: () => light.clear() } },
      el("th", { scope: "row" }, button(visible(entry.name), () => select({ row, column: null, of }),
        { class: entry.sink ? "plain name sink" : "plain name", dir: "auto", "data-key": `line-${of}-${row}` })),
      el("td", { class: "number" }, sure === null ? "" : percent(sure)),
      site && el("td", {}, el("ol", { class: "shares-of" }, places.map((column) => el("li", { dir: "auto" },
        bar(figure.at(row, column)), el("span", {}, visible(figure.columns[column].name)), " ",
        el("span", { class: "number quiet" }, percent(figure.at(row, column))))),
      places.length === 0 && el("li", { class: "quiet" }, "nothing in particular"))));
  });
  return el("table", { class: "word-lines" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Word"),
    el("th", { scope: "col", class: "number" }, writes ? "sure" : ""), site && el("th", { scope: "col" }, "attends to"))),
  el("tbody", {}, lines));
}

/** True if no word attends to later words; then each line ends with its word. */
function onlyBack(figure) {
  return figure.rows.every((row, r) => figure.columns.every((column, c) =>
    column.places[0] <= row.places.at(-1) || figure.at(r, c) < 0.001));
}

function readingLine(answer, row, back, light) {
  const { figure, of } = answer;
  const entry = figure.rows[row];
  const parts = [];
  figure.columns.forEach((column, c) => {
    // decoder inputs are shifted by one position: stop before the word itself, which is added at the end
    if (back && column.places[0] > (figure.own ? entry.places.at(-1) : entry.places[0])) return;
    const current = figure.own && column.places[0] === entry.places[0];
    const weight = figure.at(row, c);
    parts.push(el("span", { class: current ? "seen current" : "seen", dir: "auto", title: percent(weight),
      css: { "--look": Math.min(1, weight).toFixed(3) } }, visible(column.name)), " ");
  });
  if (!figure.own) parts.push(el("span", { class: "seen current", dir: "auto" }, visible(entry.name)));
  return el("li", { on: { pointerenter: () => light.set(row, null, of), pointerleave: () => light.clear() } }, parts);
}

function reading(answer, light) {
  const { figure, of } = answer;
  const back = onlyBack(figure);
  return el("div", {},
    el("p", { class: "quiet" }, `One line for each word ${figure.own ? "read" : "written"}: the word is in colour, `,
      "the darker the others, the more it attends to them."),
    el("ol", { class: "reading", tabindex: 0, "aria-label": "Lines, one for each word", "data-scroll": `reading-${of}` },
      figure.rows.slice(0, MOST).map((_, row) => readingLine(answer, row, back, light))));
}

/** Draw the lens for one answer. */
export function wordsLens(answer, { light, select, several }) {
  const { figure, site, of } = answer;
  const more = figure.rows.length - MOST;
  const open = (row) => select({ row, column: null, of });
  const own = viewOf(figure.side).lines;
  const shown = own ? own(figure, { light, open })
    : site && looksBack(site) ? reading(answer, light) : listed(answer, { light, select, several });
  return el("div", { class: "words-view" }, shown,
    more > 0 && !own && el("p", { class: "quiet" },
      `The last ${more} lines are left out here; the matrix has them.`));
}

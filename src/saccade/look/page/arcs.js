// Arcs: two columns of words, joined by curves whose opacity is the weight; each head has a color.
import { el, svg } from "saccade/dom";
import { pictureOf } from "saccade/fold";
import { headClass } from "saccade/theme";
import { breadth, clip, visible } from "saccade/words";

const HEIGHT = 27;
const SPAN = 240;
const FAINTEST = 0.03;
const MOST = 3000;

function column(entries, x, anchor, kind, light) {
  const texts = entries.map((entry, place) => svg("text", { x, y: HEIGHT * (place + 0.5), "text-anchor": anchor,
    "dominant-baseline": "central", class: entry.sink ? "arc-word sink" : "arc-word",
    on: { pointerenter: () => light.set(...(kind === "row" ? [place, null] : [null, place])),
      pointerleave: () => light.clear() } },
  clip(visible(entry.name), 22)));
  light.listen((lit) => texts.forEach((text, place) => text.classList.toggle("on", lit[kind] === place)));
  return texts;
}

/** The visible arcs of one head. */
function found(picture, head) {
  const arcs = [];
  picture.rows.forEach((_, row) => picture.columns.forEach((_column, place) => {
    const weight = picture.at(row, place);
    if (weight >= FAINTEST) arcs.push({ row, column: place, weight, head });
  }));
  return arcs;
}

function curve(arc, left, number, heads) {
  const shift = heads > 1 ? (number - (heads - 1) / 2) * Math.min(3, 14 / heads) : 0;
  const [from, to] = [HEIGHT * (arc.column + 0.5) + shift, HEIGHT * (arc.row + 0.5) + shift];
  return svg("path", { class: `arc ${arc.head === null ? "" : headClass(arc.head)}`,
    "stroke-opacity": (0.08 + 0.92 * Math.min(1, arc.weight)).toFixed(3),
    "stroke-width": (1 + 3 * arc.weight).toFixed(2),
    d: `M${left} ${from}C${left + SPAN / 2} ${from} ${left + SPAN / 2} ${to} ${left + SPAN} ${to}` });
}

export function arcs(trace, site, state, picture, light) {
  const heads = state.head === null && site.heads > 1 ? [...Array(site.heads).keys()]
    : [site.heads > 1 ? state.head : null];
  const drawn = heads.flatMap((head) => found(head === state.head ? picture
    : pictureOf(trace, site, { ...state, head }), head));
  drawn.sort((one, two) => two.weight - one.weight);
  const left = 18 + 9.7 * Math.max(3, ...picture.columns.map((entry) => breadth(clip(visible(entry.name), 22))));
  const right = 18 + 9.7 * Math.max(3, ...picture.rows.map((entry) => breadth(clip(visible(entry.name), 22))));
  const size = { width: left + SPAN + right, height: HEIGHT * Math.max(picture.rows.length, picture.columns.length) };
  const paths = drawn.slice(0, MOST).map((arc) =>
    ({ arc, path: curve(arc, left, heads.indexOf(arc.head), heads.length) }));
  light.listen(({ row, column: place }) => paths.forEach(({ arc, path }) => path.classList.toggle("dim",
    (row !== null && arc.row !== row) || (place !== null && arc.column !== place))));
  const shown = svg("svg", { class: "arcs", ...size, role: "img",
    "aria-label": "Arcs from the words looked at, left, to the words that look, right" },
    paths.map(({ path }) => path), column(picture.columns, left - 8, "end", "column", light),
      column(picture.rows, left + SPAN + 8, "start", "row", light));
  return el("div", { class: "arcs-view" },
    el("p", { class: "quiet" }, "Left: what is looked at. Right: the words that look."),
    heads.length > 1 && el("p", { class: "legend" },
      heads.map((head) => el("span", { class: `head-key ${headClass(head)}` }, `head ${head}`))),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Arcs", "data-scroll": "arcs" }, shown),
    drawn.length > MOST && el("p", { class: "quiet" }, `The ${MOST} strongest of ${drawn.length} arcs are drawn.`));
}

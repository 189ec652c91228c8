// Thumbnails of all heads in all layers, to compare them and to choose one.
import { button, el } from "saccade/base/dom";
import { inkOf } from "saccade/base/theme";
import { viewOf } from "saccade/lanes/table";
import { visible } from "saccade/base/format";

function thumbnail(site, head) {
  const [, rows, columns] = site.weights.shape;
  const canvas = el("canvas", { width: Math.max(1, columns), height: Math.max(1, rows), "aria-hidden": "true" });
  const pixels = new ImageData(Math.max(1, columns), Math.max(1, rows));
  const [red, green, blue] = inkOf();
  const start = head * rows * columns;
  for (let place = 0; place < rows * columns; place += 1) {
    pixels.data.set([red, green, blue, Math.round(255 * Math.min(1, site.weights.values[start + place] || 0))],
      4 * place);
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

const WAYS = { "target → source": "Cross-attention", "source → source": "Encoder self-attention",
  "target → written": "Decoder self-attention", "target → target": "Decoder self-attention",
  "question → source": "Question to passage", "source → question": "Passage to question",
  "summary → source": "Whole question to passage", "summary → question": "Weights of the question's words",
  "question → question": "Question self-attention" };
/** What a site does, in the words of textbooks. */
export const wayOf = (site) => WAYS[`${site.rows} → ${site.columns}`] ?? `${site.rows} to ${site.columns}`;

/** Thumbnails of all heads; a click calls `choose` with the name of a site and a head. */
export function headGrid({ trace, site: chosen, head, of }, { state, light, choose }) {
  const own = chosen.rows !== chosen.columns ? viewOf(trace.sides.get(chosen.columns)).thumbnail : null;
  const follows = (site) => own !== null && site.rows === chosen.rows && site.columns === chosen.columns;
  const sites = trace.sites.filter((site) => !own || follows(site));
  const ways = [...new Set(sites.map(wayOf))];
  const nameOf = (site, layer, number) => (site.layer === null ? `${visible(site.name)}, head ${number + 1}`
    : `Layer ${layer + 1}, head ${number + 1}`);
  const tile = (site, layer, number) => button([follows(site) ? own(trace, site, { ...state, head: number }, light)
    : thumbnail(site, number), el("span", {}, nameOf(site, layer, number))],
  () => choose(site.name, site.heads > 1 ? number : null), { class: "thumbnail",
    "aria-pressed": String(site === chosen && (head === number || site.heads === 1)),
    "data-key": `head-${of}-${site.name}-${number}`,
    "aria-label": `${wayOf(site)}: ${nameOf(site, layer, number)}` });
  return el("div", { class: "heads-view" },
    el("p", { class: "quiet" }, own ? "What all words together attend to; point at a word to see its own."
      : "Rows attend, columns are attended to, token by token. Select one to see its ribbons and its matrix."),
    ways.map((way) => el("section", { class: "way" }, el("h3", {}, way),
      sites.filter((site) => wayOf(site) === way).map((site, place) => el("div", { class: "thumbnails" },
        [...Array(site.heads).keys()].map((number) => tile(site, place, number)))))));
}

// All heads of all layers as small pictures, to see at a glance what each does, and to choose one.
import { button, el } from "saccade/dom";
import { inkOf } from "saccade/theme";
import { visible } from "saccade/words";

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

/** `choose` is called with the name of a site and a head. */
export function headGrid(trace, chosen, head, choose) {
  const groups = trace.sites.map((site) => el("section", { class: "head-row" },
    el("h4", {}, visible(site.name), el("span", { class: "quiet" }, ` ${site.rows} → ${site.columns}`)),
    el("div", { class: "thumbnails" }, [...Array(site.heads).keys()].map((number) => {
      const pressed = site === chosen && (head === number || (head === null && site.heads === 1));
      return button([thumbnail(site, number), el("span", {}, `head ${number}`)],
        () => choose(site.name, site.heads > 1 ? number : null), {
        class: "thumbnail", "aria-pressed": String(pressed), "data-key": `head-${site.name}-${number}`,
          "aria-label": `${visible(site.name)}, head ${number}` });
    }))));
  return el("div", { class: "heads-view" },
    el("p", { class: "quiet" }, "Rows look, columns are looked at, piece by piece. Choose one to see it large."),
      groups);
}

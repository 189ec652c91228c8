// Thumbnails of all heads in all layers, to compare them and to choose one.
import { button, el } from "saccade/dom";
import { isPicture, pictureOf } from "saccade/fold";
import { inkOf } from "saccade/theme";
import { overlaid } from "saccade/heatmap";
import { visible } from "saccade/words";

const SIZE = 96;

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

/** The thumbnail of a head over an image: the weights of the word under the pointer, or the sum over all words. */
function seen(trace, site, head, state, light) {
  const side = trace.sides.get(site.columns);
  const picture = pictureOf(trace, site, { ...state, head });
  const { shown, show } = overlaid(side, SIZE, 1);
  const whole = (place) => picture.rows.reduce((sum, _, row) => sum + picture.at(row, place), 0);
  const paint = (row) => show(side.tokens.map((_, place) => (row === null ? whole(place) : picture.at(row, place))));
  paint(null);
  light.listen(({ row }) => paint(row));
  return shown;
}

/** Draw the thumbnails; a click calls `choose` with the name of a site and a head. */
export function headGrid(trace, chosen, state, light, choose) {
  const pictured = isPicture(trace.sides.get(chosen.columns)) && chosen.rows !== chosen.columns;
  const follows = (site) => pictured && site.rows === chosen.rows && site.columns === chosen.columns;
  const groups = trace.sites.filter((site) => !pictured || follows(site)).map((site) => el("section", { class: "head-row" },
    el("h4", {}, visible(site.name), el("span", { class: "quiet" }, ` ${site.rows} → ${site.columns}`)),
    el("div", { class: "thumbnails" }, [...Array(site.heads).keys()].map((number) => {
      const pressed = site === chosen && (state.head === number || (state.head === null && site.heads === 1));
      return button([follows(site) ? seen(trace, site, number, state, light) : thumbnail(site, number), el("span", {}, `head ${number}`)],
        () => choose(site.name, site.heads > 1 ? number : null), {
        class: "thumbnail", "aria-pressed": String(pressed), "data-key": `head-${site.name}-${number}`,
          "aria-label": `${visible(site.name)}, head ${number}` });
    }))));
  return el("div", { class: "heads-view" },
    el("p", { class: "quiet" }, pictured ? "What all words together look at; point at a word to see its own. "
      + "Choose one to see it large." : "Rows look, columns are looked at, piece by piece. Choose one to see it large."),
      groups);
}

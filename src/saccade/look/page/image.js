// A picture that was read: the patches a word looked at stand out of the dark.
import { el } from "saccade/dom";

/** For sides that are grids over an image; follows what is pointed at, or the given row. */
export function image(side, weightsOf, light, row = null) {
  if (side.kind !== "grid" || !side.image || !side.grid) return null;
  const [rows, columns] = side.grid;
  const patches = Array.from({ length: rows * columns }, () => el("span"));
  const show = (place) => {
    const weights = place === null ? null : weightsOf(place);
    const most = weights ? Math.max(1e-9, ...weights) : 1;
    patches.forEach((patch, number) => { patch.style.opacity = weights
      ? (0.75 * (1 - weights[number] / most)).toFixed(3) : 0; });
  };
  light.listen((lit) => show(lit.row ?? row));
  show(row);
  return el("div", { class: "image", css: { "--columns": columns } },
    el("img", { src: side.image, alt: "The picture that was read" }),
      el("div", { class: "patches", "aria-hidden": "true" }, patches));
}

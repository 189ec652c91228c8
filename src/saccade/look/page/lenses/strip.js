// A vector as a strip of colored cells: orange for negative, blue for positive, pale near zero.
import { el } from "saccade/base/dom";
import { colour } from "saccade/base/theme";
import { decimal } from "saccade/base/format";

const norm = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

export function strip(name, values, formula = "") {
  const [less, more] = [colour("--less"), colour("--more")];
  const largest = Math.max(1e-9, ...[...values].map((value) => Math.abs(value) || 0));
  const canvas = el("canvas", { class: "strip", width: Math.max(1, values.length), height: 1, role: "img",
    "aria-label": `${name}: ${values.length} numbers up to ${decimal(largest)} in size, `
      + `length ${decimal(norm(values))}` });
  const pixels = new ImageData(Math.max(1, values.length), 1);
  values.forEach((value, place) => {
    const tint = value < 0 ? less : more;
    pixels.data.set([...tint, Math.round(255 * Math.min(1, Math.abs(value || 0) / largest))], 4 * place);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return el("figure", { class: "vector" },
    el("figcaption", {}, el("b", {}, name), formula && el("span", { class: "formula" }, formula),
      el("span", { class: "quiet" },
        `${values.length} numbers, ±${decimal(largest)}, length ${decimal(norm(values))}`)), canvas);
}

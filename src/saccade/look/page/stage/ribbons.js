// Ribbons: curves that join the words of two lanes. Their width and opacity are the attention weight.
import { svg } from "saccade/base/dom";

const FAINTEST = 0.04;
const MOST = 1500;
const WIDEST = 11;

/** The links to draw: all visible ones, or only those of the selected word. */
function linksOf(figure) {
  const links = [];
  figure.rows.forEach((_, row) => figure.columns.forEach((_column, column) => {
    const weight = figure.at(row, column);
    if (weight >= FAINTEST) links.push({ row, column, weight });
  }));
  return links.sort((one, two) => two.weight - one.weight).slice(0, MOST).reverse();
}

/** A ribbon from the lower edge of one box to the upper edge of another, relative to `origin`. */
function curve(from, to, origin) {
  const [x0, y0] = [(from.left + from.right) / 2 - origin.left, from.bottom - origin.top];
  const [x1, y1] = [(to.left + to.right) / 2 - origin.left, to.top - origin.top];
  const middle = (y0 + y1) / 2;
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}C${x0.toFixed(1)} ${middle.toFixed(1)} ${x1.toFixed(1)} `
    + `${middle.toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
}

/**
 * The drawing over `box`, which holds both lanes. `sparse`: too many words, so only ribbons of the lit word are drawn.
 * `below`: other lanes lie between, so they are drawn only for a word of this answer.
 * Returns {element, place()}: `place` measures the words again, as after a change of size.
 */
export function ribbons(box, figure, upper, lower, { light, of, sparse, below }) {
  const links = linksOf(figure);
  const paths = links.map(({ weight, row, column }) => svg("path", {
    class: `ribbon${figure.hasGold && figure.gold(row, column) ? " right" : ""}`,
    "stroke-width": (1 + (WIDEST - 1) * weight).toFixed(2) }));
  const element = svg("svg", { class: "ribbons", "aria-hidden": "true" }, paths);
  let wraps = false;
  const lit = () => {
    const mine = light.of === of;
    paths.forEach((path, number) => {
      const { row, column, weight } = links[number];
      const chosen = (light.row === null || (mine && light.row === row))
        && (light.column === null || light.column === column);
      const alone = light.empty || (light.row !== null && !mine);
      const rest = sparse || below ? 0 : !alone ? 0.05 : wraps ? 0.3 * weight : 0.14 + 0.6 * weight;
      const shown = !alone && chosen && (!below || light.row !== null) ? 0.3 + 0.7 * weight : rest;
      path.setAttribute("stroke-opacity", shown.toFixed(3));
    });
  };
  light.listen(lit);
  const place = () => {
    const [first, last] = [figure.rows.length && lower(0), figure.rows.length && lower(figure.rows.length - 1)];
    wraps = first.top !== last.top; // lanes of several lines: ribbons would hide one another
    const origin = box.getBoundingClientRect();
    const [left, top] = [origin.left - box.scrollLeft, origin.top - box.scrollTop];
    element.setAttribute("width", box.scrollWidth);
    element.setAttribute("height", box.scrollHeight);
    const [tops, bottoms] = [figure.columns.map((_, column) => upper(column)),
      figure.rows.map((_, row) => lower(row))];
    paths.forEach((path, number) => path.setAttribute("d",
      curve(tops[links[number].column], bottoms[links[number].row], { left, top })));
    lit();
  };
  return { element, place };
}

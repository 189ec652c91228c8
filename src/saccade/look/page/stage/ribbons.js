// Ribbons: curves that join the words of two lanes. Their width and opacity are the attention weight.
import { svg } from "saccade/base/dom";

const FAINTEST = 0.04;
const MOST = 1500;
const WIDEST = 11;

/** The links to draw, the strongest last. */
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

const [GUTTER, GAP, BEND, APART] = [6, 4, 7, 4];
/** Pixels from the words to the ribbons beside them, from a line to those below it, of their bends, and between them. */
const THIN = 4;
/** The widest ribbon beside words. */

/** A path through points with round bends. */
function bent(points) {
  const parts = points.map(([x, y], place) => {
    const [before, after] = [points[place - 1], points[place + 1]];
    if (!before) return `M${x.toFixed(1)} ${y.toFixed(1)}`;
    if (!after) return `L${x.toFixed(1)} ${y.toFixed(1)}`;
    const near = ([toX, toY]) => {
      const long = Math.hypot(toX - x, toY - y) || 1;
      const step = Math.min(BEND, long / 2) / long;
      return `${(x + (toX - x) * step).toFixed(1)} ${(y + (toY - y) * step).toFixed(1)}`;
    };
    return `L${near(before)}Q${x.toFixed(1)} ${y.toFixed(1)} ${near(after)}`;
  });
  return parts.join("");
}

/**
 * A ribbon where lanes wrap: below the line of `from`, beside all words, and above the line of `to`, so that it passes
 * behind none. `lane` keeps several beside each other.
 */
function beside(from, to, origin, left, lane) {
  const middle = (box) => (box.left + box.right) / 2 - origin.left;
  const [down, up] = [from.bottom - origin.top, to.top - origin.top];
  const x = left - GUTTER - APART * lane;
  return bent([[middle(from), down], [middle(from), down + GAP], [x, down + GAP], [x, up - GAP], [middle(to), up - GAP],
    [middle(to), up]]);
}

/**
 * The drawing over `box`, which holds both lanes. `sparse`: so many words that only ribbons of the lit word are drawn, as
 * they also are where lanes wrap; there they run beside the words. `below`: other lanes lie between, so they are drawn only for a word of this answer.
 * Returns {element, place(), wraps()}: `place` measures the words again, as after a change of size.
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
    const chosen = links.map(({ row, column }) => (light.row === null || (mine && light.row === row))
      && (light.column === null || light.column === column) && (!below || light.row !== null));
    // nothing lit, a word of another answer, or one without links, as a hidden word: the whole picture
    const whole = light.empty || (light.row !== null && !mine) || !chosen.includes(true);
    paths.forEach((path, number) => {
      const { weight } = links[number];
      const strong = 0.3 + 0.7 * weight;
      const rest = sparse || below || wraps ? 0 : whole ? 0.14 + 0.6 * weight : 0.05;
      path.setAttribute("stroke-opacity", (!whole && chosen[number] ? strong : rest).toFixed(3));
    });
  };
  light.listen(lit);
  const place = () => {
    const [tops, bottoms] = [figure.columns.map((_, column) => upper(column)), figure.rows.map((_, row) => lower(row))];
    wraps = [tops, bottoms].some((boxes) => boxes.length && Math.abs(boxes[0].top - boxes.at(-1).top) > boxes[0].height / 2);
    const origin = box.getBoundingClientRect();
    const [left, top] = [origin.left - box.scrollLeft, origin.top - box.scrollTop];
    element.setAttribute("width", box.scrollWidth);
    element.setAttribute("height", box.scrollHeight);
    const side = Math.min(...tops.map((each) => each.left), ...bottoms.map((each) => each.left)) - left;
    const [last, first] = [tops.at(-1)?.top, bottoms[0]?.top];
    paths.forEach((path, number) => {
      const { row, column, weight } = links[number];
      const [from, to] = [tops[column], bottoms[row]];
      const open = !wraps || (Math.abs(from.top - last) < from.height / 2 && Math.abs(to.top - first) < to.height / 2);
      path.setAttribute("d", open ? curve(from, to, { left, top }) : beside(from, to, { left, top }, side, number % 2));
      path.setAttribute("stroke-width", (1 + ((open ? WIDEST : THIN) - 1) * weight).toFixed(2));
    });
    lit();
  };
  return { element, place, wraps: () => wraps };
}

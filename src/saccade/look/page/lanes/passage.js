// A lane that is a long text: shaded where a word attends, with a map of the whole text beside it.
import { el, svg } from "saccade/base/dom";
import { Follower, listen, reveal, running, shade } from "saccade/lanes/running";
import { answerOf } from "saccade/trace/spans";

const FAINT = 0.3;
/** Opacity in the map of a word that all words so far together attended to, and this one did not. */
const COPIED = 0.05;
/** Least probability of a copy that is shown. */
const NONE = { classes: [], told: [] };
const following = new Follower();

/** The sum of each column's weights over the rows up to `row`, or over all of them: what was covered by then. */
function coverage(figure, row) {
  const last = row === null ? figure.rows.length - 1 : row;
  return figure.columns.map((_, column) => {
    let sum = 0;
    for (let before = 0; before <= last; before += 1) sum += figure.at(before, column);
    return Math.min(1, sum);
  });
}

/** A word in pixels of the scrolled text. */
const boxOf = (chip) => ({ x: chip.offsetLeft, y: chip.offsetTop, width: chip.offsetWidth, height: chip.offsetHeight });

/** The map: every word as a small bar, and the part of the text that is seen now. */
class TextMap {
  constructor(text, chips) {
    this.text = text;
    this.chips = chips;
    this.bars = chips.map(() => svg("rect", { class: "map-word" }));
    this.view = svg("rect", { class: "map-view" });
    this.element = svg("svg", { class: "minimap", preserveAspectRatio: "none", "aria-hidden": "true" }, this.bars, this.view);
    text.addEventListener("scroll", () => this.follow());
    for (const kind of ["pointerdown", "pointermove"]) this.element.addEventListener(kind, (event) => this.#go(event));
  }

  /** Measure the words; the map is the text squeezed into a strip. */
  measure() {
    const { scrollWidth: wide, scrollHeight: high } = this.text;
    this.element.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    this.element.style.height = `${this.text.clientHeight}px`;
    this.chips.map(boxOf).forEach((box, place) => Object.entries(box)
      .forEach(([name, value]) => this.bars[place].setAttribute(name, value)));
    this.follow();
  }

  follow() {
    const { scrollTop: y, clientHeight: height, clientWidth: width, scrollHeight } = this.text;
    for (const [name, value] of Object.entries({ x: 0, y, width, height })) this.view.setAttribute(name, value);
    this.view.setAttribute("visibility", scrollHeight > height + 1 ? "visible" : "hidden");
  }

  shade(weights, covered, pointed) {
    this.bars.forEach((bar, place) => {
      const share = Math.max(0.08, weights?.[place] ?? 0, FAINT * (covered?.[place] ?? 0));
      bar.setAttribute("fill-opacity", Math.min(1, share).toFixed(2));
      bar.classList.toggle("on", place === pointed);
    });
  }

  #go(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const { top, height } = this.element.getBoundingClientRect();
    const { scrollHeight, clientHeight } = this.text;
    this.text.scrollTop = ((event.clientY - top) / height) * scrollHeight - clientHeight / 2;
  }
}

/** The probability with which the tokens of a row are copies of each column. */
function copiesOf({ trace, figure }, row) {
  const columns = new Map(figure.columns.flatMap(({ places }, column) => places.map((place) => [place, column])));
  const found = figure.columns.map(() => 0);
  const steps = row.places.map((place) => trace.steps[place]?.copies ?? []);
  for (const [place, share] of steps.flat()) if (columns.has(place)) found[columns.get(place)] += share / steps.length;
  return found;
}

/** The largest weight that each column gets from any row. */
const strongestOf = (figure) => figure.columns.map((_, column) => Math.max(...figure.rows.map((_row, row) =>
  figure.at(row, column))));

/** Beginnings and ends of an answer that is a part of the text: ink on the left and on the right of words. */
function showEnds(chips, figure, shown) {
  const [first, last] = shown ? [0, figure.rows.length - 1] : [];
  chips.forEach((chip, place) => {
    chip.style.setProperty("--first", shown ? figure.at(first, place).toFixed(3) : "0");
    chip.style.setProperty("--last", shown ? figure.at(last, place).toFixed(3) : "0");
  });
}

function legendOf({ writes, points, copies }) {
  return el("p", { class: "legend quiet" }, [points ? "Ink: left, where an answer begins; right, where it ends."
    : "Shade: where the word in question attends.", writes && !points && " Line below: what all words up to it attended to.",
  copies && " Dashed: what it may be a copy of.", points && " Framed: the answer."].filter(Boolean));
}

/** A lane of running text; see lanes/table.js. */
export function passageLane({ key, label, side, name, words, rows, unit, picked, look, point, leave, pick, answer, light }) {
  const { trace, figure, site } = answer;
  const writes = Boolean(site) && site.rows === "target" && site.columns === name && !rows;
  const points = trace.task === "questions" && writes;
  const copies = writes && trace.steps.some((step) => step.copies);
  const [begin, end] = answerOf(trace) ?? [1, 0];
  const { chips, parts } = running(side, { key, words, unit, picked, look: (word, place) => {
    const { classes, told } = look?.(word, place) ?? NONE;
    const within = word.places.some((at) => at >= begin && at <= end);
    return { classes: [...classes, within && "answer-word"], told: [...told, within && "part of the answer"].filter(Boolean) };
  } });
  const text = el("div", { class: "passage", dir: "auto", tabindex: 0, role: "group", "aria-label": label,
    "data-scroll": `passage-${key}` }, parts.flatMap(({ shown }) => [shown, " "]));
  listen(text, { point, leave, pick });
  const map = new TextMap(text, chips);
  const element = el("div", { class: "lane running", "data-lane": key }, el("span", { class: "lane-name" }, label),
    el("div", { class: "with-map" }, text, map.element), writes && legendOf({ writes, points, copies }));
  return {
    element, layout: rows ? null : "paged", sized: true,
    light: (weights, pointed, row = null, lit = figure) => {
      const own = lit.columns.length === chips.length ? lit : figure;
      const covered = writes && !points ? coverage(own, row) : null;
      const copied = copies && row !== null && row < figure.rows.length ? copiesOf(answer, figure.rows[row]) : null;
      shade(chips, weights, pointed);
      if (points) showEnds(chips, figure, light.empty);
      chips.forEach((chip, place) => {
        chip.style.setProperty("--seen", covered ? covered[place].toFixed(3) : "0");
        chip.classList.toggle("origin", copied !== null && copied[place] >= COPIED);
      });
      map.shade(points && light.empty ? strongestOf(figure) : weights, covered, pointed);
    },
    reveal: (place) => chips[place] && reveal(text, chips[place]),
    chips,
    settle: () => {
      map.measure();
      if (!rows) following.settle(text, chips, { light, figure });
    },
  };
}

// A lane of words: read or written, one beside the other.
import { el, roving } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { chipOf, shade } from "saccade/lanes/running";

/** A lane of words in one line, joined to others by ribbons; see lanes/table.js. */
export function textLane({ key, label, words, picked, point, leave, pick, look, note = null }) {
  const chips = words.map((word, place) => chipOf(word, place, { key, picked, look }, { pointerenter: () => point(place),
    focus: () => point(place), pointerleave: leave, blur: leave, click: () => pick(place) }));
  const group = el("div", { class: "words", role: "group", "aria-label": label }, chips, note);
  if (chips.length) roving(group, ".word", { row: true });
  return {
    element: el("div", { class: "lane", "data-lane": key }, el("span", { class: "lane-name" }, label), group),
    line: words, joined: true,
    rectOf: (place) => chips[place].getBoundingClientRect(),
    light: (weights, pointed) => shade(chips, weights, pointed),
  };
}

/** A lane of words that cannot be chosen, such as the answer before a change. */
export function plainLane({ label, words }) {
  return el("div", { class: "lane was" }, el("span", { class: "lane-name" }, label),
    el("p", { class: "words", dir: "auto" }, words.flatMap(({ name, gone, mark }) => [
      el(gone ? "del" : "span", { class: mark ? "sink" : null }, visible(name)), " "])));
}

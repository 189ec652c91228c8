// A lane of words: read or written, one beside the other.
import { el, roving } from "saccade/base/dom";
import { visible } from "saccade/base/format";

const LIT = 0.05;

/**
 * A lane is {element, chips, rectOf(place), light(weights, pointed)}; `light` takes a weight for each word, or null.
 * `point(place)`, `leave()`, `pick(place)`: what pointing at a word, leaving it and choosing it do.
 * `look(word, place)`: {classes, told, shift}, the state of a word as class names, for screen readers, and as a line below.
 */
export function textLane({ key, label, words, picked, point, leave, pick, look, note = null }) {
  const chips = words.map((word, place) => {
    const { classes, told, shift = null } = look(word, place);
    return el("button", {
      type: "button", class: ["word", word.sink && "sink", ...classes].filter(Boolean).join(" "), dir: "auto",
      "data-key": `${key}-${place}`, "data-shift": shift, "aria-pressed": String(place === picked),
      "aria-label": [visible(word.name), ...told].join(", "),
      on: { pointerenter: () => point(place), focus: () => point(place), pointerleave: leave, blur: leave,
        click: () => pick(place) },
    }, visible(word.name));
  });
  const group = el("div", { class: "words", role: "group", "aria-label": label }, chips, note);
  if (chips.length) roving(group, ".word", { row: true });
  return {
    element: el("div", { class: "lane", "data-lane": key }, el("span", { class: "lane-name" }, label), group),
    chips,
    rectOf: (place) => chips[place].getBoundingClientRect(),
    light: (weights, pointed) => chips.forEach((chip, place) => {
      const weight = weights ? Math.min(1, weights[place]) : 0;
      chip.style.setProperty("--look", weight.toFixed(3));
      chip.classList.toggle("lit", weight >= LIT);
      chip.classList.toggle("on", place === pointed);
    }),
  };
}

/** A lane of words that cannot be chosen, such as the answer before a change. */
export function plainLane({ label, words }) {
  return el("div", { class: "lane was" }, el("span", { class: "lane-name" }, label),
    el("p", { class: "words", dir: "auto" }, words.flatMap(({ name, gone, mark }) => [
      el(gone ? "del" : "span", { class: mark ? "sink" : null }, visible(name)), " "])));
}

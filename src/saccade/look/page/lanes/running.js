// Words of a running text, shared by lanes of passages and dialogues: buttons in the order of the text.
import { el, roving } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { entriesOf } from "saccade/trace/fold";

const LIT = 0.05;

/** Shade words by weights, a number for each or null, and mark the one pointed at. */
export function shade(chips, weights, pointed) {
  chips.forEach((chip, place) => {
    const weight = weights ? Math.min(1, weights[place]) : 0;
    chip.style.setProperty("--look", weight.toFixed(3));
    chip.classList.toggle("lit", weight >= LIT);
    chip.classList.toggle("on", place === pointed);
  });
}

/** The button of a word; `look(word, place)`: {classes, told, shift, title}, as class names, for screen readers, as a line below, and on pointing. */
export function chipOf(word, place, { key, picked, look, name = visible(word.name) }, on = {}) {
  const { classes, told, shift = null, title = null } = look(word, place);
  return el("button", {
    type: "button", class: ["word", word.sink && "sink", ...classes].filter(Boolean).join(" "), dir: "auto",
    "data-key": `${key}-${place}`, "data-place": place, "data-shift": shift, "aria-pressed": String(place === picked),
    "aria-label": [name, ...told].join(", "), title, on,
  }, name);
}

/**
 * The words of a side in the order of its text: {chips, parts}. `chips` are the buttons of the figure's words. `parts`
 * are {entry, shown}, words that the figure leaves out included. `nameOf(entry)` may give another name.
 * @param {any} side
 * @param {any} spec
 */
export function running(side, { words, unit, nameOf = (entry) => visible(entry.name), ...spec }) {
  const numbers = new Map(words.map((word, place) => [word.places[0], place]));
  const chips = [];
  const parts = entriesOf(side, unit).map((entry) => {
    const place = numbers.get(entry.places[0]);
    if (place === undefined) return { entry, shown: el("span", { class: "sink" }, nameOf(entry)) };
    const { key, picked, look } = spec;
    chips[place] = chipOf(words[place], place, { key, picked, look, name: nameOf(entry) });
    return { entry, shown: chips[place] };
  });
  return { chips, parts };
}

/** Handle pointer, keyboard and clicks in a box of words, with a few listeners for all words. */
export function listen(box, { point, leave, pick }) {
  const placed = (act) => (event) => {
    const chip = event.target.closest(".word");
    if (chip) act(Number(chip.dataset.place));
    else leave();
  };
  for (const kind of ["pointerover", "focusin"]) box.addEventListener(kind, placed(point));
  for (const kind of ["pointerleave", "focusout"]) box.addEventListener(kind, () => leave());
  box.addEventListener("click", (event) => { if (event.target.closest(".word")) placed(pick)(event); });
  if (box.querySelector(".word")) roving(box, ".word", { row: true });
}

/** Scroll a box, but no element around it, until an element in it is visible. */
export function reveal(box, element) {
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
  box.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
}

/** Scrolls to the strongest word when another row is selected, but not while a word is pointed at. */
export class Follower {
  #last = null;

  settle(box, chips, { light, figure }) {
    const { row, of } = light.home;
    const now = row === null || row >= figure.rows.length ? null : `${of} ${row}`;
    if (now === this.#last) return;
    this.#last = now;
    if (now === null || !chips.length) return;
    const weights = figure.columns.map((_, column) => figure.at(row, column));
    const best = chips[weights.indexOf(Math.max(...weights))];
    if (best) reveal(box, best);
  }
}

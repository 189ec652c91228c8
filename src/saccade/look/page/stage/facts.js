// What model answered, and how likely it finds its answer, in plain words behind a question mark.
import { el } from "saccade/base/dom";
import { decimal, percent, visible } from "saccade/base/format";
import { popup } from "saccade/base/popup";
import { draws, entriesOf, logProbability, unknownTokens } from "saccade/trace/fold";

/** The question mark beside an answer. */
export function factsOf({ trace, of }) {
  const { preset, parameters } = trace.model;
  const total = logProbability(trace);
  const facts = [[visible(preset), "The kind of model: which parts it has and how they are joined."],
    [`${parameters.toLocaleString("en")} parameters`, "The numbers that training learns."],
    [`log-probability ${decimal(total)}`, `How likely the model finds this whole answer: ${percent(Math.exp(total))}. That is the `
      + "product of the probabilities of its words; the logarithm stays readable for long answers. Closer to 0 is more likely."]];
  const box = popup(`facts-${of}`, el("span", { class: "circle" }, "?"), el("dl", {}, facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
  box.classList.add("facts");
  box.querySelector("summary").setAttribute("aria-label", "About this answer");
  return box;
}

const LISTED = 8;
/** Most unknown words that are named. */

/** The words that the model cannot tell from other unknown words, as a sentence, or null. */
function unknownOf({ trace, site }) {
  const side = trace.sides.get(site?.columns ?? "source");
  const places = unknownTokens(side);
  const words = places.size ? entriesOf(side, "words").filter((entry) => entry.places.some((place) => places.has(place))) : [];
  const names = [...new Set(words.map(({ name }) => visible(name)))];
  const more = names.length > LISTED ? ` and ${names.length - LISTED} more` : "";
  return names.length > 0 && `Not in the model's vocabulary: ${names.slice(0, LISTED).join(", ")}${more}.`;
}

/** Why an answer was not changed with the others, which words its model does not know, and what it lacks. */
export function notesOf(answer) {
  const { site, why } = answer;
  const notes = [unknownOf(answer), why && `Not changed: ${visible(why)}.`, !site && (draws(answer.trace) ? "This model has no attention."
    : "This model has no attention: it reads everything into one vector.")];
  return notes.some(Boolean) && el("p", { class: "quiet notes" }, notes.filter(Boolean).join(" "));
}

// The answer to a question, and the next best parts of the passage: pointing at one shows it, a click answers with it.
import { button, el } from "saccade/base/dom";
import { clip, percent, visible } from "saccade/base/format";
import { answerOf, bestSpans, textOf } from "saccade/trace/spans";

const LISTED = 5;
const LETTERS = 60;
const NONE = "No answer in the passage";

/** The list below the lanes of a question; `passage` is the lane of the passage. */
export function spansOf(answer, passage) {
  const { trace, hand, figure, of } = answer;
  if (trace.task !== "questions") return null;
  const chosen = answerOf(trace);
  const columnOf = (place) => figure.columns.findIndex(({ places }) => places.includes(place));
  const show = ({ first, last }, on) => {
    if (first === null || !passage?.reveal) return;
    const [from, to] = [columnOf(first), columnOf(last)];
    passage.chips.forEach((chip, place) => chip.classList.toggle("offered", on && place >= from && place <= to));
    if (on) passage.reveal(from);
  };
  const item = (span, place) => {
    const mine = chosen === null ? span.first === null : span.first === chosen[0] && span.last === chosen[1];
    const text = span.first === null ? NONE : visible(clip(textOf(trace, span), LETTERS));
    return el("li", {}, button([el("span", { dir: "auto" }, text), " ", el("span", { class: "number quiet" },
      percent(span.share))], () => { if (hand.possible && span.first !== null && !mine) hand.begin([span.first, span.last]); },
    { class: "span-choice", "aria-pressed": String(mine), "data-key": `span-${of}-${place}`,
      on: { pointerenter: () => show(span, true), focus: () => show(span, true), pointerleave: () => show(span, false),
        blur: () => show(span, false) } }));
  };
  const spans = bestSpans(trace, LISTED);
  return el("div", { class: "spans" },
    el("p", { class: "answer-text" }, el("span", { class: "lane-name" }, "Answer"), " ",
      el("b", { dir: "auto" }, chosen === null ? NONE : visible(trace.text))),
    spans.length > 0 && el("ol", { "aria-label": "The most likely answers" }, spans.map(item)));
}

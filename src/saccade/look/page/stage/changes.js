// Below an answer: the words before a change, what the change did, and how to take it back.
import { button, el } from "saccade/base/dom";
import { plainLane } from "saccade/lanes/text";
import { sentenceOf, takenBack } from "saccade/stage/told";

/** What an intervention did, with the buttons that take it back (`last`); or what Undo would bring back after Start over. */
export function happened(answer, app, last) {
  const undo = (label) => app.depth > 0 && button(label, () => app.undo(), { class: "small", "data-key": "undo", title: "Z" });
  if (answer.diff) {
    const over = () => app.startOver(takenBack(answer, app.state));
    return el("p", { class: "what-happened" }, el("span", {}, sentenceOf(answer, app.state)),
      last && el("span", { class: "take-back" }, undo("Undo"), " ",
        button("Start over", over, { class: "small", "data-key": "start-over" })));
  }
  if (!last || !app.back) return null;
  return el("p", { class: "what-happened" }, el("span", {}, "All changes are taken back."), el("span", { class: "take-back" }, undo(`Undo: ${app.back}`)));
}

/** The answer before the changes, and what they did; where the inspector covers the stage (`covered`), it shows the latter. */
export function changes(answer, app, { last, covered }) {
  if (answer.model === null) return null;
  const parts = [answer.diff?.changed > 0 && plainLane({ label: "Was", words: answer.diff.old }),
    !covered && happened(answer, app, last)].filter(Boolean);
  return parts.length > 0 && el("div", { class: "changes" }, parts);
}

/** What was changed before the trace was saved, in words. */
export function savedChanges({ trace, model }) {
  const { block = [], force = [], pull = [] } = model === null ? trace.options : {};
  const told = [block.length && `${block.length} tokens hidden`, force.length && `${force.length} tokens given`,
    pull.length && `${pull.length} weights set by hand`].filter(Boolean);
  return told.length > 0 && el("p", { class: "quiet" }, `Saved with changes: ${told.join(", ")}.`);
}

// An image that a model drew: what its judge sees in it, and the gain of its attention.
import { el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";

const LISTED = 3;
/** Most classes that are named. */

/** The classes that the judge sees, the likeliest first, and what the trace says of the model. */
export function judged({ trace, label }, several) {
  const [first, ...rest] = trace.steps[0].candidates.slice(0, LISTED).map(([, name, score]) => [visible(name), percent(Math.exp(score))]);
  const [, ...gains] = visible(trace.model.preset).split(", ");
  return el("div", { class: "judged" }, several && el("h3", {}, visible(label)),
    el("p", {}, "The judge sees ", el("b", {}, first[0]), ` ${first[1]}`, rest.length > 0
      && el("span", { class: "quiet" }, `, ${rest.map((each) => each.join(" ")).join(", ")}`)),
    gains.length > 0 && el("p", { class: "quiet" }, `${gains.join(", ")}. Near 0, a map means little.`));
}

// Other words that the model considered, to be written instead.
import { button, el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { shownToken } from "saccade/trace/fold";
import { leastToken } from "saccade/trace/spans";

const LIKELY = 0.01;
const END = "<eos>";

/** Other words for each token of a written word; the likely ones first, the others on request. */
export function instead(pick) {
  const { answer, row } = pick;
  const { trace, hand, figure } = answer;
  const steps = figure.rows[row].places.filter((place) => trace.steps[place]);
  const lists = steps.map((step) => {
    const { token: chosen, text, candidates } = trace.steps[step];
    const least = leastToken(trace, step);
    const others = candidates.filter(([token, name]) => token !== chosen && name !== END && token >= least);
    const likely = others.filter(([, , logarithm]) => Math.exp(logarithm) >= LIKELY);
    const shown = (list) => el("div", { class: "choices" }, list.map(([token, name, logarithm]) =>
      button([el("span", { dir: "auto" }, visible(name)), " ",
        el("span", { class: "number quiet" }, percent(Math.exp(logarithm)))], () => hand.say(step, token),
      { disabled: !hand.possible, "data-key": `say-${step}-${token}`, class: "choice-word" })));
    const more = others.slice(likely.length);
    return el("div", {}, steps.length > 1 && el("p", { class: "quiet" }, `in place of “${visible(shownToken(text))}”`),
      likely.length ? shown(likely) : el("p", { class: "quiet" }, "No other word has 1 % or more."),
      more.length > 0 && el("details", {}, el("summary", { "data-key": `more-${step}` }, "less likely"), shown(more)));
  });
  return steps.length > 0 && el("section", { id: "instead" }, el("h3", {}, answer.trace.glimpses ? "Believes, too" : "Say instead"), lists);
}

// Answers that are a part of the text: what was chosen, and the next best.
import { tokenWeights } from "saccade/trace/fold";

const LONGEST = 30;
/** Tokens of an answer among those listed. */

/** The first and the last source token of the answer, or null if it is no part of the source or there is none. */
export function answerOf(trace) {
  const end = trace.sides.get("source")?.marks ?? [];
  if (trace.task !== "questions" || trace.steps.length !== 2) return null;
  const ends = trace.steps.map(({ token }) => token);
  return ends.some((place) => end.includes(place)) ? null : ends;
}

/** The least token that a step may have: an answer that is a part of the text ends after it begins. */
export const leastToken = (trace, step) => (trace.task === "questions" && step > 0 ? trace.steps[step - 1].token : 0);

/**
 * The most likely answers [{first, last, share}], best first, without those that overlap with a better one;
 * {first: null} is "no answer".
 */
export function bestSpans(trace, most) {
  const site = trace.sites.find(({ rows, columns }) => rows === "target" && columns === "source");
  const side = trace.sides.get("source");
  if (trace.task !== "questions" || !site || site.weights.shape[1] !== 2) return [];
  const weights = tokenWeights(site, null);
  const size = side.tokens.length;
  const found = [];
  for (let first = 0; first < size; first += 1) {
    if (side.marks.includes(first)) found.push({ first: null, last: null, share: weights[first] * weights[size + first] });
    else {
      for (let last = first; last < Math.min(size, first + LONGEST); last += 1) {
        if (!side.marks.includes(last)) found.push({ first, last, share: weights[first] * weights[size + last] });
      }
    }
  }
  const kept = [];
  for (const span of found.sort((one, two) => two.share - one.share)) {
    if (kept.length === most) break;
    if (!kept.some(({ first, last }) => first !== null && span.first !== null && span.first <= last && first <= span.last)) {
      kept.push(span);
    }
  }
  return kept;
}

/** The words of a span as text, without the punctuation after its last token. */
export function textOf(trace, { first, last }) {
  const { words, word_of: wordOf } = trace.sides.get("source");
  const text = [...new Set(wordOf.slice(first, last + 1))].map((word) => words[word]).join(" ");
  return wordOf[last + 1] === wordOf[last] ? text.replace(/\p{P}+$/u, "") : text;
}

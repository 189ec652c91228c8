// Differences between two answers: which words stayed, which took the place of others, and how sure the model is of them.
import { entriesOf, sureness } from "saccade/trace/fold";

const LONGEST = 600;
/** Words of an answer; longer ones are compared place by place. */
const EQUAL = LONGEST + 1;
/** What a pair of equal words counts, so that no number of unequal pairs outweighs it. */

/**
 * For each new word the place of the old word that it stands for, or null: the pairs in order with the most equal words,
 * and of these the one that replaces the most words in place.
 */
export function counterparts(before, after) {
  if (before.length > LONGEST || after.length > LONGEST) {
    return after.map((_, place) => (place < before.length ? place : null));
  }
  const width = after.length + 1;
  const best = new Uint32Array((before.length + 1) * width);
  const paired = (b, a) => best[(b + 1) * width + a + 1] + (before[b] === after[a] ? EQUAL : 1);
  for (let b = before.length - 1; b >= 0; b -= 1) {
    for (let a = after.length - 1; a >= 0; a -= 1) {
      best[b * width + a] = Math.max(paired(b, a), best[(b + 1) * width + a], best[b * width + a + 1]);
    }
  }
  const found = after.map(() => null);
  for (let b = 0, a = 0; b < before.length && a < after.length;) {
    if (best[b * width + a] === paired(b, a)) {
      found[a] = b;
      a += 1;
      b += 1;
    } else if (best[b * width + a] === best[(b + 1) * width + a]) b += 1;
    else a += 1;
  }
  return found;
}

/** For each new word the place of the old word that it equals, or null. */
export const matches = (before, after) =>
  counterparts(before, after).map((old, place) => (old !== null && before[old] === after[place] ? old : null));

/**
 * Compare the written words of two traces. `kept` and `stood` give for each word after the place of the word before that
 * it equals, or stands for; `fresh` are the words that changed, `old` is [{name, mark, gone}].
 */
export function difference(base, trace) {
  const [before, after] = [base, trace].map((each) => {
    const side = each.sides.get("target");
    return side ? entriesOf(side, "words") : [];
  });
  const stood = counterparts(before.map((entry) => entry.name), after.map((entry) => entry.name));
  const kept = stood.map((old, place) => (old !== null && before[old].name === after[place].name ? old : null));
  const stayed = new Set(kept);
  const old = before.map((entry, place) => ({ name: entry.name, mark: entry.mark, gone: !stayed.has(place) }));
  const fresh = after.filter((_, place) => kept[place] === null);
  return { before, after, kept, stood, old, fresh,
    changed: Math.max(fresh.length, old.filter((each) => each.gone).length) };
}

/** The probabilities of a kept word before and after: [then, now], or null for a changed word. */
export function shiftOf({ base, trace, diff }, word) {
  const place = diff ? diff.after.findIndex((entry) => entry.places[0] === word.places[0]) : -1;
  if (place < 0 || diff.kept[place] === null) return null;
  const both = [sureness(base, diff.before[diff.kept[place]]), sureness(trace, diff.after[place])];
  return both.includes(null) ? null : both;
}

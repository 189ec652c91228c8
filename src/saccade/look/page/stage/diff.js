// Differences between two answers: which words stayed, and a sentence on what an intervention did.
import { percent, visible } from "saccade/base/format";
import { byUse, entriesOf, figureOf, shownToken, strongest, sureness } from "saccade/trace/fold";

const LONGEST = 600;
/** Words of an answer; longer ones are compared place by place. */
const EQUAL = LONGEST + 1;
/** What a pair of equal words counts, so that no number of unequal pairs outweighs it. */
const NOTABLE = 0.05;
/** The change of a word's probability that is worth a sentence. */

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

const quoted = (entry) => `“${visible(entry.name)}”`;
const WHOLE = { head: null, unit: "words", sinks: "shown" };

/** The word to speak of if none changed: the one that attended most to the hidden word. */
function userOf({ base, site, diff }, hidden) {
  const first = base.sites.find((each) => each.name === site.name);
  if (!first || !hidden) return -1;
  const then = figureOf(base, first, WHOLE);
  const [row] = byUse(then, then.columns.findIndex((entry) => entry.places[0] === hidden.places[0]), 1);
  return row === undefined ? -1 : diff.kept.indexOf(row);
}

/** Where a written word attends now, as a part of a sentence, or null. */
function attends({ trace, site, diff }, place) {
  const now = figureOf(trace, site, WHOLE);
  const [best] = place >= 0 && place < now.rows.length ? strongest(now, place, 1) : [];
  if (best === undefined) return null;
  const [word, old] = [diff.after[place], diff.before[diff.stood[place] ?? -1]];
  const who = !old || old.name === word.name ? quoted(word) : `in place of ${quoted(old)}, ${quoted(word)}`;
  return `${who} now attends most to ${quoted(now.columns[best])} (${percent(now.at(place, best))})`;
}

/** The word whose probability changed most, as a part of a sentence, or null if no change is notable. */
function surer(answer) {
  const [most] = answer.diff.after.map((word) => ({ word, shift: shiftOf(answer, word) }))
    .filter(({ shift }) => shift && Math.abs(shift[1] - shift[0]) >= NOTABLE)
    .sort((one, two) => Math.abs(two.shift[1] - two.shift[0]) - Math.abs(one.shift[1] - one.shift[0]));
  return most ? `the model is now ${percent(most.shift[1])} sure of ${quoted(most.word)}, before ${percent(most.shift[0])}`
    : null;
}

function consequence(answer, hidden) {
  const { site, diff, hand } = answer;
  const changed = diff.after.findIndex((word, place) => diff.kept[place] === null && !hand.yours(word));
  const crossing = site && site.rows === "target" && site.columns === "source";
  if (changed >= 0 && crossing) return attends(answer, changed);
  return surer(answer) ?? (crossing ? attends(answer, userOf(answer, hidden)) : null);
}

/** One sentence that says what was changed, and its effect. */
export function sentenceOf(answer, state) {
  const { base, diff, hand } = answer;
  const source = base.sides.get("source");
  const entries = source ? entriesOf(source, "words") : [];
  const hidden = [...state.hide.map((number) => entries[number]),
    ...state.block.map((place) => entries.find((entry) => entry.places.includes(place)))].filter(Boolean);
  const done = [];
  if (hidden.length) done.push(`${hidden.map(quoted).join(", ")} ${hidden.length > 1 ? "are" : "is"} hidden`);
  const given = diff.after.filter((word) => hand.yours(word));
  if (given.length) done.push(`you wrote ${given.map((word) => `“${visible(shownToken(word.name))}”`).join(", ")}`);
  if (hand.pulls.length) done.push("you set attention weights");
  const count = diff.changed - diff.fresh.filter((word) => hand.yours(word)).length;
  const other = given.length ? "other " : "";
  const so = count <= 0 ? (given.length ? "the other words stay the same" : "the words stay the same")
    : count === 1 ? `one ${other}word changed` : `${count} ${other}words changed`;
  const text = [[done.join(", "), so].filter(Boolean).join(": "), consequence(answer, hidden[0])].filter(Boolean).join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

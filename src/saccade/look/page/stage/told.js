// Sentences on an intervention: what was changed, what the answer is now, and which words changed.
import { clip, percent, visible } from "saccade/base/format";
import { shiftOf } from "saccade/stage/diff";
import { byUse, entriesOf, figureOf, shownToken, strongest } from "saccade/trace/fold";

const NOTABLE = 0.05;
/** The change of a word's probability that is worth a sentence. */
const [AROUND, LISTED, LETTERS, SHORT] = [2, 3, 90, 44];
/** Words quoted on either side of what changed, changed words listed, letters quoted, and those of a text quoted in full. */
const WHOLE = { head: null, unit: "words", sinks: "shown" };

const quoted = (entry) => `“${visible(entry.name)}”`;
const joined = (list) => (list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list.at(-1)}`);

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
  return best === undefined ? null
    : `${quoted(diff.after[place])} now attends most to ${quoted(now.columns[best])} (${percent(now.at(place, best))})`;
}

/** The word whose probability changed most, as a part of a sentence, or null if no change is notable. */
function surer(answer) {
  const [most] = answer.diff.after.map((word) => ({ word, shift: shiftOf(answer, word) }))
    .filter(({ shift }) => shift && Math.abs(shift[1] - shift[0]) >= NOTABLE)
    .sort((one, two) => Math.abs(two.shift[1] - two.shift[0]) - Math.abs(one.shift[1] - one.shift[0]));
  return most ? `the model is now ${percent(most.shift[1])} sure of ${quoted(most.word)}, before ${percent(most.shift[0])}`
    : null;
}

/** What became of the words: “zone” became “autre”, “a” is gone, “b” is new. */
function became({ diff, hand }) {
  const found = diff.after.flatMap((word, place) => {
    if (diff.kept[place] !== null || hand.yours(word)) return [];
    const old = diff.before[diff.stood[place] ?? -1];
    return [old ? `${quoted(old)} became ${quoted(word)}` : `${quoted(word)} is new`];
  });
  const stood = new Set(diff.stood);
  const gone = diff.before.filter((_, place) => !stood.has(place)).map((word) => `${quoted(word)} is gone`);
  return [...found, ...gone];
}

/** The new text, or of a long one the part around what changed. */
function excerpt({ diff }) {
  const words = diff.after.filter((word) => !word.mark);
  const whole = words.map(({ name }) => name).join(" ");
  const changed = words.flatMap((word, place) => (diff.fresh.includes(word) ? [place] : []));
  if (!changed.length || whole.length <= SHORT) return `“${visible(clip(whole, LETTERS))}”`;
  const [from, to] = [Math.max(0, changed[0] - AROUND), Math.min(words.length, changed.at(-1) + AROUND + 1)];
  const text = clip(words.slice(from, to).map(({ name }) => name).join(" "), LETTERS);
  return `“${from > 0 ? "… " : ""}${visible(text)}${to < words.length ? " …" : ""}”`;
}

/** The written words that other words are hidden from: [{word, gone}]. After a change, `word` is the one that it replaced. */
function hiddenFromWords({ diff, hand, base }) {
  if (!hand.pulls.length) return [];
  const source = entriesOf(base.sides.get("source"), "words");
  return diff.after.map((now, place) => ({ now, word: diff.before[diff.stood[place] ?? -1] ?? now,
    gone: source.filter((entry) => hand.hiddenFrom(now, entry)) })).filter(({ gone }) => gone.length > 0);
}

/** The interventions: words hidden from all, hidden from single ones, given words, and the number of other weights set. */
function interventions({ base, diff, hand }, state) {
  const source = base.sides.get("source");
  const entries = source ? entriesOf(source, "words") : [];
  const hidden = [...state.hide.map((number) => entries[number]),
    ...state.block.map((place) => entries.find((entry) => entry.places.includes(place)))].filter(Boolean);
  const single = hiddenFromWords({ diff, hand, base });
  const count = single.flatMap(({ now, gone }) => gone.map((entry) => entry.places.length * now.places.length))
    .reduce((sum, each) => sum + each, 0);
  return { hidden, single, given: diff.after.filter((word) => hand.yours(word)), others: hand.pulls.length - count };
}

/** What Start over takes back, as what Undo would do then: “hide “Area” again”. */
export function takenBack(answer, state) {
  const { hidden, single, given, others } = interventions(answer, state);
  const parts = [hidden.length > 0 && `hide ${joined(hidden.map(quoted))}`,
    ...single.map(({ word, gone }) => `hide ${joined(gone.map(quoted))} from ${quoted(word)}`),
    given.length > 0 && `write ${joined(given.map((word) => `“${visible(shownToken(word.name))}”`))}`,
    others > 0 && "set your weights"].filter(Boolean);
  return `${clip(joined(parts), LETTERS)} again`;
}

/** What follows if no word changed, as a part of a sentence, or null. */
function consequence(answer, hidden) {
  const { site } = answer;
  const crossing = site && site.rows === "target" && site.columns === "source";
  return surer(answer) ?? (crossing ? attends(answer, userOf(answer, hidden)) : null);
}

const capital = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** What was changed, the new text, and which words changed in it. */
export function sentenceOf(answer, state) {
  const { hidden, single, given, others } = interventions(answer, state);
  const are = (list) => (list.length > 1 ? "are" : "is");
  const done = [hidden.length > 0 && `${joined(hidden.map(quoted))} ${are(hidden)} hidden`,
    ...single.map(({ word, gone }) => `${joined(gone.map(quoted))} ${are(gone)} hidden from ${quoted(word)} only`),
    given.length > 0 && `you wrote ${given.map((word) => `“${visible(shownToken(word.name))}”`).join(", ")}`,
    others > 0 && "you set attention weights"].filter(Boolean);
  const changes = became(answer);
  const said = changes.length || given.length ? `the model now writes ${excerpt(answer)}` : "the words stay the same";
  const listed = changes.length > LISTED ? [...changes.slice(0, LISTED), `${changes.length - LISTED} more changed`] : changes;
  const which = changes.length ? joined(listed) : given.length ? "the other words stay the same" : null;
  const first = [done.join(", "), said].filter(Boolean).join(": ");
  const more = changes.length ? null : consequence(answer, hidden[0] ?? single[0]?.gone[0]);
  return `${capital([first, which, more].filter(Boolean).join("; "))}.`;
}

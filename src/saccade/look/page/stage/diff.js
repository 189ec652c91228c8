// Differences between two answers: which words stayed, and a sentence on what an intervention did.
import { percent, visible } from "saccade/base/format";
import { byUse, entriesOf, figureOf, strongest } from "saccade/trace/fold";

const LONGEST = 600;
/** Words of an answer; longer ones are compared place by place. */

/** For each new word the place of the old word it equals, or null: a longest common subsequence. */
export function matches(before, after) {
  if (before.length > LONGEST || after.length > LONGEST) {
    return after.map((word, place) => (before[place] === word ? place : null));
  }
  const width = after.length + 1;
  const common = new Uint16Array((before.length + 1) * width);
  for (let b = before.length - 1; b >= 0; b -= 1) {
    for (let a = after.length - 1; a >= 0; a -= 1) {
      common[b * width + a] = before[b] === after[a] ? 1 + common[(b + 1) * width + a + 1]
        : Math.max(common[(b + 1) * width + a], common[b * width + a + 1]);
    }
  }
  const found = after.map(() => null);
  for (let b = 0, a = 0; b < before.length && a < after.length;) {
    if (before[b] === after[a]) {
      found[a] = b;
      a += 1;
      b += 1;
    } else if (common[(b + 1) * width + a] >= common[b * width + a + 1]) b += 1;
    else a += 1;
  }
  return found;
}

/** Compare the written words of two traces: {rows, kept, changed, old: [{name, gone}]}. */
export function difference(base, trace) {
  const [before, after] = [base, trace].map((each) => {
    const side = each.sides.get("target");
    return side ? entriesOf(side, "words") : [];
  });
  const kept = matches(before.map((entry) => entry.name), after.map((entry) => entry.name));
  const stayed = new Set(kept);
  const old = before.map((entry, place) => ({ name: entry.name, mark: entry.mark, gone: !stayed.has(place) }));
  const added = kept.filter((place) => place === null).length;
  return { before, after, kept, old, changed: Math.max(added, old.filter((each) => each.gone).length) };
}

const quoted = (entry) => `“${visible(entry.name)}”`;

/** A sentence on where the word that attended most to a hidden word attends now, or null if no word did. */
function moved(base, trace, site, hidden, diff) {
  const options = { head: null, unit: "words", sinks: "shown" };
  const same = trace.sites.find((each) => each.name === site.name);
  const first = base.sites.find((each) => each.name === site.name);
  if (!same || !first || !site || site.rows !== "target" || site.columns !== "source") return null;
  const [then, now] = [figureOf(base, first, options), figureOf(trace, same, options)];
  const column = then.columns.findIndex((entry) => entry.places[0] === hidden.places[0]);
  const [row] = byUse(then, column, 1);
  if (row === undefined) return null;
  const place = diff.kept.indexOf(row) >= 0 ? diff.kept.indexOf(row) : Math.min(row, now.rows.length - 1);
  const [best] = now.rows.length ? strongest(now, place, 1) : [];
  if (best === undefined) return null;
  const [old, fresh] = [then.rows[row], now.rows[place]];
  const who = old.name === fresh.name ? quoted(fresh) : `in place of ${quoted(old)}, ${quoted(fresh)}`;
  return `${who} now attends most to ${quoted(now.columns[best])} (${percent(now.at(place, best))})`;
}

/** One sentence that says what was changed and what came of it. */
export function sentenceOf(base, trace, site, state, diff) {
  const source = base.sides.get("source");
  const entries = source ? entriesOf(source, "words") : [];
  const hidden = [...state.hide.map((number) => entries[number]),
    ...state.block.map((place) => entries.find((entry) => entry.places.includes(place)))].filter(Boolean);
  const done = [];
  if (hidden.length) done.push(`${hidden.map(quoted).join(", ")} ${hidden.length > 1 ? "are" : "is"} hidden`);
  if (state.force.length) {
    const last = trace.steps[state.force.length - 1];
    if (last) done.push(`you wrote “${visible(last.text)}”`);
  }
  if (state.pull.length) done.push("you set attention weights");
  const so = diff.changed === 0 ? "the words stay the same"
    : diff.changed === 1 ? "one word changed" : `${diff.changed} words changed`;
  const where = hidden.length === 1 && site ? moved(base, trace, site, hidden[0], diff) : null;
  const text = [[done.join(", "), so].filter(Boolean).join(": "), where].filter(Boolean).join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

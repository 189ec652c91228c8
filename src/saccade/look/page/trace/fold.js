// The weights that a figure shows of a site: subwords folded to words, heads averaged, marks set apart or left out.

const PUNCTUATION = /^[\p{P}\p{S}▁\s]+$/u;
const MARKS = { "<eos>": "end", "<bos>": "start" };
/** The names under which the tokens that belong to no word are shown. */

/** The name under which a token of a step or of the search is shown. */
export const shownToken = (text) => MARKS[text] ?? text;

/** True if a side is an image that can be shown. */
export const isImage = (side) => side.kind === "grid" && side.grid !== null && side.image !== null;

/** True if a side is a sheet of labeled images, with the query as its first tile. */
export const isSheet = (side) => isImage(side) && side.tokens[0] === "(query)";

/** True if a side is a sound with its duration. */
export const isSound = (side) => side.kind === "frames" && side.seconds !== null && side.seconds !== undefined;

/** The name of a token; image regions are named by row and column, moments of a sound by their time. */
export function nameOf(side, place) {
  const token = side.tokens[place];
  if (side.kind === "frames" && token !== undefined) return `${token} s`;
  if (side.kind !== "grid" || side.grid === null || token === undefined) return MARKS[token] ?? token ?? `word ${place}`;
  if (isSheet(side) && place > 0 && token !== "-") {
    const same = side.tokens.slice(1, place + 1).filter((other) => other === token).length;
    return `${token} ${same}`;
  }
  const columns = side.grid[1];
  return isSheet(side) && place === 0 ? "the query itself" : `row ${Math.floor(place / columns) + 1}, column ${(place % columns) + 1}`;
}

/** The rows or columns of a figure: names, the token positions (places) of each, and whether it is a sink. */
export function entriesOf(side, unit) {
  const marks = new Set(side.marks);
  const entries = [];
  const byWord = new Map();
  side.tokens.forEach((_, place) => {
    const token = nameOf(side, place);
    const number = side.word_of[place];
    const mark = marks.has(place) || number === side.words.length;
    const known = unit === "words" && !mark ? byWord.get(number) : undefined;
    if (known) {
      known.places.push(place);
      return;
    }
    const whole = unit === "words" && !mark && side.kind === "text";
    const name = whole ? side.words[number] : mark ? MARKS[token] ?? token : token;
    const entry = { name, places: [place], word: mark ? null : number, mark, sink: mark || PUNCTUATION.test(name) };
    if (!mark) byWord.set(number, entry);
    entries.push(entry);
  });
  return entries;
}

function arranged(entries, sinks) {
  if (sinks === "shown") return { entries, apart: entries.length };
  const kept = entries.filter((entry) => !entry.sink);
  if (sinks === "hidden") return { entries: kept, apart: kept.length };
  return { entries: [...kept, ...entries.filter((entry) => entry.sink)], apart: kept.length };
}

/** The token weights (rows, columns) of one head, or the mean over all heads. */
export function tokenWeights(site, head) {
  const [heads, rows, columns] = site.weights.shape;
  const size = rows * columns;
  const sum = new Float32Array(size);
  const chosen = head === null ? [...Array(heads).keys()] : [head];
  for (const each of chosen) {
    for (let place = 0; place < size; place += 1) sum[place] += site.weights.values[each * size + place] || 0;
  }
  return sum.map((value) => value / chosen.length);
}

/** The rows or columns of a figure, or none if the trace lacks that side. */
const sideEntries = (side, unit, sinks) => arranged(side ? entriesOf(side, unit) : [], sinks);

/**
 * Fold tokens to words: sum over the tokens of an attended word, average over those of an attending word. Without a
 * site (a model without attention), the figure has the words of both sides and no weights.
 */
export function figureOf(trace, site, { head, unit, sinks }) {
  const [rowSide, columnSide] = [trace.sides.get(site?.rows ?? "target"), trace.sides.get(site?.columns ?? "source")];
  const { entries: rows, apart: rowsApart } = sideEntries(rowSide, unit, sinks);
  const { entries: columns, apart: columnsApart } = sideEntries(columnSide, unit, sinks);
  const weights = new Float32Array(rows.length * columns.length);
  if (site) {
    const tokens = tokenWeights(site, head);
    const width = columnSide.tokens.length;
    rows.forEach((row, r) => columns.forEach((column, c) => {
      let sum = 0;
      for (const from of row.places) for (const to of column.places) sum += tokens[from * width + to];
      weights[r * columns.length + c] = sum / row.places.length;
    }));
  }
  const crossing = !site || (site.rows === "target" && site.columns === "source");
  const links = new Set(crossing ? trace.gold.map(([source, target]) => `${target} ${source}`) : []);
  const gold = (r, c) => links.has(`${rows[r].word} ${columns[c].word}`);
  const whole = columnSide && isImage(columnSide) && columns.length === columnSide.tokens.length
    && columns.every(({ places }, c) => String(places) === String(c));
  return { rows, columns, rowsApart, columnsApart, weights, gold, hasGold: links.size > 0, crossing,
    side: whole ? columnSide : null, own: Boolean(site) && site.rows === site.columns,
    at: (r, c) => weights[r * columns.length + c] };
}

/** The columns with the highest weights of a row, strongest first. */
export function strongest(figure, row, most, least = 0.005) {
  return figure.columns.map((_, column) => column)
    .sort((one, two) => figure.at(row, two) - figure.at(row, one))
    .slice(0, most).filter((column) => figure.at(row, column) >= least);
}

/** The rows with the highest weights on a column, strongest first. */
export function byUse(figure, column, most) {
  return figure.rows.map((_, row) => row)
    .sort((one, two) => figure.at(two, column) - figure.at(one, column))
    .slice(0, most).filter((row) => figure.at(row, column) >= 0.0005);
}

const UNKNOWN = "<unk>";

/** The places of tokens that the model reads as unknown words, because it never saw them in training. */
export const unknownTokens = (side) =>
  new Set(side?.tokens.flatMap((token, place) => (token === UNKNOWN && !side.marks.includes(place) ? [place] : [])));

/** Whether an answer is written token by token, so that other tokens can be asked for; a label is not. */
export const writesTokens = (trace) => !["classification", "episodes", "glimpses", "image-generation"].includes(trace.task);

/** Whether an answer is an image that the model drew. */
export const draws = (trace) => trace?.task === "image-generation";

/** The probability of a written word: the product over its tokens, or null if the trace has no steps for it. */
export function sureness(trace, entry) {
  const steps = entry.places.map((place) => trace.steps[place]);
  return steps.length && steps.every(Boolean)
    ? Math.exp(steps.reduce((sum, step) => sum + step.log_probability, 0)) : null;
}

/** The probability that a written word was copied: the mean over its tokens, or null for models that do not copy. */
export function copiedShare(trace, entry) {
  const copies = entry.places.map((place) => trace.steps[place]?.copies);
  if (!copies.every(Boolean)) return null;
  return copies.flat().reduce((sum, [, share]) => sum + share, 0) / copies.length;
}

/** The log-probability of the answer: the same for the same words, however they were found. */
export const logProbability = (trace) =>
  (trace.steps.length ? trace.steps.reduce((sum, step) => sum + step.log_probability, 0) : trace.score);

/** True for self-attention: a side attends to itself, or a decoder to the tokens written so far. */
export const looksBack = (site) => site.rows === site.columns || site.columns === "written";

/** Sites grouped by row side and column side: one site for each layer. */
export function groupsOf(trace) {
  const groups = new Map();
  for (const site of trace.sites) {
    const key = `${site.rows} → ${site.columns}`;
    groups.set(key, [...(groups.get(key) ?? []), site]);
  }
  return groups;
}

/** The site with that name; else the trace's default; else the last cross-attention site; else the last site. */
export function siteOf(trace, name) {
  return trace.sites.find((site) => site.name === name)
    ?? trace.sites.find((site) => site.name === trace.defaultSite)
    ?? trace.sites.findLast((site) => site.rows === "target" && site.columns === "source")
    ?? trace.sites.at(-1) ?? null;
}

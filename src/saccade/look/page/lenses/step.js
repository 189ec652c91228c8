// One decoding step explained, with the model's own numbers.
import { button, el, findAll } from "saccade/base/dom";
import { viewOf } from "saccade/lanes/table";
import { nameOf, shownToken, tokenWeights } from "saccade/trace/fold";
import { rowOf } from "saccade/trace/packed";
import { strip } from "saccade/lenses/strip";
import { decimal, percent, visible } from "saccade/base/format";

const BEST = 5;
const ALIGNS = {
  softmax: "α = exp(e − largest e) / sum of all exp(e − largest e)",
  sparsemax: "α: the nearest point to the scores whose parts add up to 1; small ones become exactly 0",
  "entmax-1.5": "α: between softmax and sparsemax; small ones become exactly 0",
  sigmoid: "α = sigmoid(e) / sum of all sigmoid(e)",
  hard: "α: one word gets everything",
  monotonic: "α only moves forward through the sentence",
};

const card = (title, ...parts) => el("section", { class: "card" }, el("h3", {}, title), parts);

/** Cards in one column, in the order of the equations, with an arrow from each to the next. */
function inOrder(cards) {
  const shown = cards.filter(Boolean);
  shown.forEach((each, place) => each.querySelector("h3").prepend(`${place + 1}. `));
  return el("div", { class: "cards" }, shown.flatMap((each, place) =>
    [place > 0 && el("span", { class: "then", "aria-hidden": "true" }, "↓"), each]));
}

/** @type {[string, string][]} */
const SYMBOLS = [["q", "query: what the step asks for, made from the state s"],
  ["k", "key: what a word offers to be found by, made from what was read, h"],
  ["v", "value: what a word hands over. In v · tanh(…): a learned vector that makes one number of many"],
  ["e", "score of query and key"], ["α", "attention weight, the share of a word"],
  ["c", "context: the sum of weight × value"], ["s", "state of the decoder after a step"],
  ["h", "what the encoder made of a word: its state"], ["W, U, L", "learned matrices, for the query, the key and f"],
  ["b, w, β", "learned vectors and a learned number"], ["d, D, A", "how many numbers a query and a key have"],
  ["f, F", "what a learned filter F sees in the weights of the step before"],
  ["cov", "coverage: how much attention a word has had so far"]];
/** The letters of the equations, explained once below the cards. */
const MEANING = new Map(SYMBOLS.flatMap(([letters, text]) => letters.split(", ").map((letter) => [letter, text])));

/** A line of an equation whose letters say what they mean. */
const formula = (text) => el("span", { class: "formula" }, text.split(/(\p{L}+)/u).map((part) =>
  (MEANING.has(part) ? el("abbr", { title: MEANING.get(part) }, part) : part)));

/** A line of the list of letters; a letter of an equation above shows where it stands. */
function symbol([letters, text], used) {
  const show = (letter) => {
    const marked = findAll("#lens abbr").filter((part) => part.classList.toggle("on", part.textContent === letter));
    marked[0]?.scrollIntoView({ block: "center" });
  };
  return [el("dt", { class: "formula" }, letters.split(", ").flatMap((letter, place) => [place > 0 && ", ",
    used.has(letter) ? button(letter, () => show(letter), { class: "small letter", "data-key": `letter-${letter}`,
      title: "Show it in the equations" }) : letter])), el("dd", {}, text)];
}

function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

/** A table with the score, exp(score) and weight of each source word. */
function sharesTable(site, head, row, side) {
  const weights = rowOf({ shape: site.weights.shape.slice(1), values: tokenWeights(site, head) }, row);
  const only = site.heads === 1 ? 0 : head;
  const scores = site.scores && only !== null ? rowOf(site.scores, only, row) : null;
  const known = scores ? [...scores].filter(Number.isFinite) : [];
  const largest = Math.max(...known, -Infinity);
  const soft = scores && site.align === "softmax";
  const raised = soft ? [...scores].map((score) => (Number.isFinite(score) ? Math.exp(score - largest) : 0)) : [];
  const places = [...side.tokens.keys()];
  const { most, part } = viewOf(side); // of many parts the strongest are listed; the others share a line
  const listed = most < Infinity ? places.sort((one, two) => weights[two] - weights[one]).slice(0, most) : places;
  const line = (name, score, exp, share, attributes = {}) => el("tr", attributes,
    el("th", { scope: "row", dir: "auto" }, name), scores && el("td", { class: "number" }, score),
    soft && el("td", { class: "number exp" }, exp),
    el("td", { class: "share" }, bar(share), el("span", { class: "number" }, percent(share))));
  const rows = listed.map((place) => line(visible(nameOf(side, place)),
    scores && Number.isFinite(scores[place]) ? decimal(scores[place]) : "masked", decimal(raised[place], 3),
    weights[place]));
  const others = side.tokens.length - listed.length;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (others > 0) rows.push(line(`${others} others`, "", "",
    total - listed.reduce((sum, place) => sum + weights[place], 0), { class: "quiet" }));
  const sum = soft && el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "sum"), el("td"),
    el("td", { class: "number exp" }, decimal(raised.reduce((a, b) => a + b, 0), 3)),
    el("td", { class: "share" }, el("span", { class: "number" }, percent(total)))));
  const names = [part, scores && "score e", soft && "exp", "weight α"];
  const classes = ["", "score", "exp", "share"];
  return el("div", { class: "scroll shares", tabindex: 0, role: "region", "aria-label": "Scores and weights",
    "data-scroll": "shares" }, el("table", {}, el("thead", {}, el("tr", {}, names.map((name, place) =>
    name && el("th", { scope: "col", class: classes[place] || null }, name)))), el("tbody", {}, rows), sum));
}

function candidates(step, choose, possible) {
  const shown = step.candidates.slice(0, BEST);
  if (!shown.some(([token]) => token === step.token)) shown.push([step.token, step.text, step.log_probability]);
  const lines = shown.map(([token, text, logarithm]) => {
    const chosen = token === step.token;
    const disabled = !possible || chosen || text === "<eos>";
    return el("li", { class: chosen ? "chosen" : null },
      button(visible(shownToken(text)), () => choose(token),
        { class: "small word", dir: "auto", disabled, "data-key": `candidate-${token}` }),
      bar(Math.exp(logarithm)), el("span", { class: "number" }, percent(Math.exp(logarithm))),
      chosen && el("span", { class: "quiet" }, "chosen"));
  });
  return el("ol", { class: "candidates" }, lines);
}

/** The query of a row in one head, and the key and value of the column with its highest weight. */
function projections(trace, site, head, row, columns) {
  const only = site.heads === 1 ? 0 : head;
  const parts = ["query", "key", "value"].map((name) => trace.vectors.get(`${site.name}.${name}`));
  if (!parts.some(Boolean)) return null;
  if (only === null) return card("Query, key and value",
    el("p", { class: "quiet" }, "Choose a head to see its vectors: the mean of several has none."));
  const weights = rowOf(site.weights, only, row);
  const top = weights.indexOf(Math.max(...weights));
  const fits = (array, place) => array && array.shape.length === 3 && only < array.shape[0] && place < array.shape[1];
  const name = visible(nameOf(columns, top));
  return card(site.heads > 1 ? `Query, key and value of head ${only + 1}` : "Query, key and value",
    fits(parts[0], row) && strip("query q", rowOf(parts[0], only, row)),
    fits(parts[1], top) && strip(`key k of ${name}`, rowOf(parts[1], only, top)),
    fits(parts[2], top) && strip(`value v of ${name}`, rowOf(parts[2], only, top)),
    el("p", { class: "quiet" }, `Key and value are those of ${name}, which this position attended to most.`));
}

const vectorAt = (trace, name, place) => {
  const array = trace.vectors.get(name);
  return array && array.shape.length === 2 && place < array.shape[0] ? rowOf(array, place) : null;
};

function scoring(trace, site, head, row) {
  const columns = trace.sides.get(site.columns);
  const mean = site.heads > 1 && head === null;
  return card("Scores and attention weights", el("p", {},
    formula(`e = ${visible(site.formula)}`), formula(ALIGNS[site.align] ?? `α by ${visible(site.align)}`)),
  mean && el("p", { class: "quiet" }, `This is the mean of ${site.heads} heads. Choose one above to see its scores.`),
  sharesTable(site, head, row, columns));
}

/** The letters of a site's equations. */
const lettersOf = (site) => new Set(`e ${site.formula} ${ALIGNS[site.align] ?? "α"}`.match(/\p{L}+/gu));

/** True if the rows of a site are target tokens, or if there is no site. */
const writing = (site) => !site || ["target", "written"].includes(site.rows);

/** The number of positions to step through. */
export function positions(trace, site) {
  const rows = site ? site.weights.shape[1] : 0;
  return writing(site) ? trace.steps.length || rows : rows;
}

function transport(at, count, name, act) {
  return el("div", { class: "transport", role: "group", "aria-label": "Steps" },
    button("← Back", () => act.go(at - 1), { disabled: at === 0, "data-key": "back" }),
    button(act.playing ? "Pause" : "Play", act.play, { "data-key": "play" }),
    button("Next →", () => act.go(at + 1), { disabled: at >= count - 1, "data-key": "next" }),
    el("input", { type: "range", min: 0, max: count - 1, step: 1, value: at, class: "scrub", "data-key": "scrub",
      "aria-label": "Step", on: { input: (event) => act.go(Number(event.target.value)) } }),
    el("b", { class: "where" }, `Step ${at + 1} of ${count}: `, el("span", { dir: "auto" }, name)));
}

/** Draw the step; `act` has go(step), playing and play(). */
export function stepLens({ trace, site, head, hand }, { state, act }) {
  const count = positions(trace, site);
  if (!count) return el("p", { class: "quiet" }, "Nothing was written step by step.");
  const at = Math.min(state.step, count - 1);
  const writes = writing(site);
  const step = writes ? trace.steps[at] : null;
  const name = visible(shownToken(step ? step.text : trace.sides.get(site.rows).tokens[at]));
  const told = writes ? ["state", "context", "vector"] : [];
  const [own, context, joined] = told.map((vector) => vectorAt(trace, vector, at));
  const bare = !own && !context && !joined && writes;
  const choose = (token) => hand.say(Math.min(at, trace.steps.length - 1), token);
  return el("div", { class: "step-view" }, transport(at, count, name, act), inOrder([
    own && card("The decoder's state", strip("state", own, "what the decoder knows at this step")),
    site && projections(trace, site, head, at, trace.sides.get(site.columns)),
    site && scoring(trace, site, head, at),
    context && card("The context", strip("context c", context, "c = sum of α × what was read")),
    joined && card("Joined with the state", strip("vector", joined,
      "state and context together; the next word is predicted from it")),
    step && card("The next word", candidates(step, choose, hand.possible),
      el("p", {}, "Chosen: ", el("b", { dir: "auto" }, visible(shownToken(step.text))),
        ` with ${percent(Math.exp(step.log_probability))}.`)),
  ]), site && el("details", { class: "symbols" }, el("summary", { "data-key": "symbols" }, "The letters"),
    el("dl", {}, SYMBOLS.flatMap((entry) => symbol(entry, lettersOf(site))))),
  bare && el("p", { class: "quiet" }, "The vectors inside the model were not recorded in this trace."));
}

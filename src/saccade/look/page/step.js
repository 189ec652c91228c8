// One decoding step explained, with the model's own numbers.
import { button, el } from "saccade/dom";
import { nameOf, tokenWeights } from "saccade/fold";
import { rowOf } from "saccade/packed";
import { strip } from "saccade/strip";
import { decimal, percent, visible } from "saccade/words";

const BEST = 5;
const REGIONS = 12;
/** The number of image regions listed, strongest first; the others share a line. */
const ALIGNS = {
  softmax: "share = exp(score − largest) / sum of all exp(score − largest)",
  sparsemax: "shares: the nearest point to the scores whose parts add up to 1; small ones become exactly 0",
  "entmax-1.5": "shares: between softmax and sparsemax; small ones become exactly 0",
  sigmoid: "share = sigmoid(score) / sum of all sigmoid(score)",
  hard: "one word gets everything",
  monotonic: "shares only move forward through the sentence",
};

const card = (title, ...parts) => el("section", { class: "card" }, el("h4", {}, title), parts);

/** Cards in two columns, numbered in the order of the computation. */
function columns(before, after) {
  const groups = [before, after].map((cards) => cards.filter(Boolean));
  groups.flat().forEach((each, place) => each.querySelector("h4").prepend(`${place + 1}. `));
  return el("div", { class: "cards" }, groups.filter((cards) => cards.length).map((cards) => el("div", {}, cards)));
}

function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

/** A table with the score, exp(score) and weight of each source word. */
function sharesTable(site, head, row, side, pull) {
  const weights = rowOf({ shape: site.weights.shape.slice(1), values: tokenWeights(site, head) }, row);
  const only = site.heads === 1 ? 0 : head;
  const scores = site.scores && only !== null ? rowOf(site.scores, only, row) : null;
  const known = scores ? [...scores].filter(Number.isFinite) : [];
  const largest = Math.max(...known, -Infinity);
  const soft = scores && site.align === "softmax";
  const raised = soft ? [...scores].map((score) => (Number.isFinite(score) ? Math.exp(score - largest) : 0)) : [];
  const names = [side.kind === "grid" ? "region" : "word", scores && "score", soft && "exp", "share", ""].filter((name) => name !== null
    && name !== false);
  const places = [...side.tokens.keys()];
  const listed = side.kind === "grid" ? places.sort((one, two) => weights[two] - weights[one]).slice(0, REGIONS)
    : places;
  const rows = listed.map((place) => el("tr", {},
    el("th", { scope: "row", dir: "auto" }, visible(nameOf(side, place))),
    scores && el("td", { class: "number" }, Number.isFinite(scores[place]) ? decimal(scores[place]) : "masked"),
    soft && el("td", { class: "number exp" }, decimal(raised[place], 3)),
    el("td", { class: "share" }, bar(weights[place]), el("span", { class: "number" }, percent(weights[place]))),
    el("td", {}, pull && button("pull", (event) => pull(event.currentTarget, place),
      { class: "small", "data-key": `pull-${place}`,
        "aria-label": `Pull the weight of ${visible(nameOf(side, place))}` }))));
  const others = side.tokens.length - listed.length;
  if (others > 0) {
    const shown = listed.reduce((sum, place) => sum + weights[place], 0);
    const rest = weights.reduce((sum, weight) => sum + weight, 0) - shown;
    rows.push(el("tr", { class: "quiet" }, el("th", { scope: "row" }, `${others} others`), scores && el("td"),
      soft && el("td"), el("td", { class: "share" }, bar(rest), el("span", { class: "number" }, percent(rest))),
      el("td")));
  }
  const sum = soft && el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "sum"), el("td"),
    el("td", { class: "number exp" }, decimal(raised.reduce((a, b) => a + b, 0), 3)),
    el("td", { class: "share" }, el("span", { class: "number" }, percent(weights.reduce((a, b) => a + b, 0)))),
      el("td")));
  return el("div", { class: "scroll shares", tabindex: 0, role: "region", "aria-label": "Scores and shares",
    "data-scroll": "shares" },
    el("table", {}, el("thead", {}, el("tr", {}, names.map((name) =>
      el("th", { scope: "col", class: name || null }, name || el("span", { class: "hidden" }, "change"))))),
      el("tbody", {}, rows), sum));
}

function candidates(step, choose) {
  const shown = step.candidates.slice(0, BEST);
  if (!shown.some(([token]) => token === step.token)) shown.push([step.token, step.text, step.log_probability]);
  const lines = shown.map(([token, text, logarithm]) => {
    const chosen = token === step.token;
    const disabled = !choose.possible || chosen;
    return el("li", { class: chosen ? "chosen" : null },
      button(visible(text), () => choose(token),
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
  return card(`Query, key and value of head ${only}`,
    fits(parts[0], row) && strip("query q", rowOf(parts[0], only, row)),
    fits(parts[1], top) && strip(`key k of ${name}`, rowOf(parts[1], only, top)),
    fits(parts[2], top) && strip(`value v of ${name}`, rowOf(parts[2], only, top)),
    el("p", { class: "quiet" }, `Key and value are those of ${name}, which this position looked at most.`));
}

const vectorAt = (trace, name, place) => {
  const array = trace.vectors.get(name);
  return array && array.shape.length === 2 && place < array.shape[0] ? rowOf(array, place) : null;
};

function looking(trace, site, state, row, pull) {
  const columns = trace.sides.get(site.columns);
  const mean = site.heads > 1 && state.head === null;
  return card("Compare and share out",
    el("p", {}, el("span", { class: "formula" }, `score(q, k) = ${visible(site.formula)}`),
      el("span", { class: "formula" }, ALIGNS[site.align] ?? `aligned by ${visible(site.align)}`)),
    mean && el("p", { class: "quiet" }, `This is the mean of ${site.heads} heads. Choose one to see its scores.`),
    sharesTable(site, state.head, row, columns, pull));
}

/** True if the rows of a site are target tokens, or if there is no site. */
const writing = (site) => !site || ["target", "written"].includes(site.rows);

/** The number of positions to step through. */
export function positions(trace, site) {
  const rows = site ? site.weights.shape[1] : 0;
  return writing(site) ? trace.steps.length || rows : rows;
}

/** Draw the step; `act` has choose(token), pull(anchor, place) or null, go(step), playing, play(), link(). */
export function stepView(trace, site, state, act) {
  const count = positions(trace, site);
  const at = Math.min(state.step, count - 1);
  const writes = writing(site);
  const step = writes ? trace.steps[at] : null;
  const name = visible(step ? step.text : trace.sides.get(site.rows).tokens[at]);
  const told = writes ? ["state", "context", "vector"] : [];
  const [own, context, joined] = told.map((vector) => vectorAt(trace, vector, at));
  const bare = !own && !context && !joined && writes;
  return el("div", { class: "step-view" },
    el("div", { class: "transport", role: "group", "aria-label": "Steps" },
      button("← Back", () => act.go(at - 1), { disabled: at === 0, "data-key": "back" }),
      button(act.playing ? "Pause" : "Play", act.play, { "data-key": "play" }),
      button("Next →", () => act.go(at + 1), { disabled: at >= count - 1, "data-key": "next" }),
      el("b", { class: "where" }, `Step ${at + 1} of ${count}: `, el("span", { dir: "auto" }, name)),
      el("a", { class: "step-link", href: act.link(), "data-key": "step-link" }, "link to this step")),
    columns([
      own && card("The decoder's state", strip("state", own, "what the decoder knows at this step")),
      site && looking(trace, site, state, at, act.pull),
    ], [
      site && projections(trace, site, state.head, at, trace.sides.get(site.columns)),
      context && card("What it takes along", strip("context", context, "sum of share × what was read")),
      joined && card("Joined with the state", strip("vector", joined,
        "state and context together; the next word is predicted from it")),
      step && card("The next word", candidates(step, act.choose),
        el("p", {}, "The choice: ", el("b", { dir: "auto" }, visible(step.text)),
        ` with ${percent(Math.exp(step.log_probability))}.`),
        !act.choose.possible && el("p", { class: "quiet" }, act.choose.reason)),
    ]),
    bare && el("p", { class: "quiet" }, "The vectors inside the model were not recorded in this trace."));
}

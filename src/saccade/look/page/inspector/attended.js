// The words that a row attends to: weights with sliders, the effect of hiding a word, and a button that hides it.
import { button, el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { Effects, shareIn } from "saccade/inspector/effects";
import { byUse, strongest, sureness } from "saccade/trace/fold";

const LISTED = 6;
const ASKED = 3;
/** Words of the list whose effect is asked for. */
const LEAST = 0.01;
/** The least weight of those. */
const STRONG = 0.05;
/** The change of a probability that is set in bold. */
const effects = new Effects();

export const stopEffects = () => effects.stop();

export function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

/** Sliders keep the pointer while one drags: until then, new answers change their numbers only. */
export const held = { input: null, follows: [] };

/** The slider of a weight. `follows` are functions of the selection, which show its numbers in a new answer. */
function slider({ answer, row, column }, follows) {
  const { figure, hand } = answer;
  const [rowEntry, columnEntry] = [figure.rows[row], figure.columns[column]];
  const weight = figure.at(row, column);
  const input = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: weight.toFixed(2), class: "pull",
    "data-key": `pull-${row}-${column}`,
    "aria-label": `Attention of ${visible(rowEntry.name)} to ${visible(columnEntry.name)}` });
  const output = el("output", { class: "number" }, percent(weight));
  input.addEventListener("input", () => {
    output.textContent = percent(Number(input.value));
    const more = held.input === input;
    Object.assign(held, { input, follows });
    stopEffects(); // they are those of the answer before
    hand.pull(rowEntry, columnEntry, Number(input.value), more);
  });
  for (const done of ["change", "blur"]) {
    input.addEventListener(done, () => {
      if (!held.input) return;
      held.input = null;
      hand.app.update({});
    });
  }
  follows.push(({ answer: { figure: fresh } }) => {
    if (held.input === input || row >= fresh.rows.length || column >= fresh.columns.length) return;
    input.value = fresh.at(row, column).toFixed(2);
    output.textContent = percent(fresh.at(row, column));
  });
  return [input, output];
}

/** From which words the buttons of the list hide a word. */
function scopeOf(app) {
  const choice = (scope, text) => button(text, () => {
    app.scope = scope;
    app.draw();
  }, { class: "small", "aria-label": `Hide from ${text}`, "aria-pressed": String(app.scope === scope), "data-key": `scope-${scope}` });
  return el("p", { class: "scope", role: "group", "aria-label": "Hide from" }, el("span", { class: "quiet" }, "Hide from"),
    choice("all", "all words"), choice("one", "this word only"));
}

/** The button that hides a word of the list, from all words or from this one, or shows it again. */
function hideButton({ answer: { figure, hand }, row, column, app }) {
  const [from, entry] = [figure.rows[row], figure.columns[column]];
  const [hidden, name] = [hand.hidden(entry), visible(entry.name)];
  const gone = !hidden && hand.hiddenFrom(from, entry);
  const alone = gone || (!hidden && app.scope === "one");
  const whom = alone ? "this word" : "all words";
  return button(hidden || gone ? "Show" : "Hide", () => (alone ? hand.toggleFor(from, entry) : hand.toggle(entry)),
    { class: "small hide", "data-key": `hide-${column}`, "aria-label": hidden || gone ? `Show ${name} to ${whom} again`
      : `Hide ${name} from ${whom}${alone ? " only" : ""}` });
}

/** Show, once it is known, how sure the model would be of a word if another one were hidden. */
function showEffect(box, trace, word, steps) {
  const [now, then] = [sureness(trace, word), steps && shareIn(steps, trace, word)];
  const least = then?.most && !percent(then.share).startsWith("<") ? "< " : "";
  box.textContent = then ? `if hidden: ${percent(now).replace(" %", "")} → ${least}${percent(then.share)}` : "";
  box.classList.toggle("strong", Boolean(then) && Math.abs(then.share - now) >= STRONG);
}

/** Whether a word can be hidden that is not: one has to stay visible. */
const hidesOne = ({ figure, hand }) => hand.canPull && figure.columns.filter((entry) => !hand.hidden(entry)).length > 1;

const effectBox = () => el("span", { class: "effect number" }, "if hidden: …");

/** The places that are listed: the strongest, the chosen one, and those that are hidden. */
function placesOf({ answer: { figure, hand }, row, column }) {
  const places = strongest(figure, row, LISTED, 0);
  const gone = (place) => hand.canHide && (hand.hidden(figure.columns[place])
    || hand.hiddenFrom(figure.rows[row], figure.columns[place]));
  const hidden = figure.columns.map((_, place) => place).filter(gone);
  return [...new Set([...places.filter((place) => !gone(place)), ...(column === null ? [] : [column]), ...hidden])];
}

/** The words that a row attends to: sliders and buttons where weights can be set, else bars. */
export function attended(pick, act, follows) {
  const { answer, row } = pick;
  const { figure, trace, hand } = answer;
  const places = placesOf(pick);
  const name = (column) => button(visible(figure.columns[column].name), () => act.select({ row: null, column, of: answer.of }),
    { class: "plain name", dir: "auto", "data-key": `name-${column}` });
  if (!hand.canPull) {
    return el("ul", { class: "weights" }, places.map((column) => el("li", {}, name(column), bar(figure.at(row, column)),
      el("span", { class: "number" }, percent(figure.at(row, column))))));
  }
  const known = sureness(trace, figure.rows[row]) !== null;
  const boxes = new Map(places.filter((column) => known && hidesOne(answer) && figure.at(row, column) >= LEAST).slice(0, ASKED)
    .map((column) => [column, effectBox()]));
  follows.push(() => boxes.forEach((box) => { box.textContent = ""; }));
  const columns = [...boxes.keys()].map((column) => figure.columns[column]);
  if (!answer.busy) effects.ask(act.app.engine, answer, columns, act.app.scope === "one" ? figure.rows[row] : null,
    (number, steps) => showEffect([...boxes.values()][number], trace, figure.rows[row], steps));
  return [scopeOf(act.app), el("ul", { class: "weights by-hand-too" }, places.map((column) =>
    el("li", { class: column === pick.column ? "chosen" : null }, name(column),
      hand.hidden(figure.columns[column]) ? [bar(0), el("span", { class: "number" }, "hidden")] : slider({ answer, row, column }, follows),
      hideButton({ answer, row, column, app: act.app }), boxes.get(column)))),
  el("p", { class: "quiet" }, known && "If hidden: how sure the model would be of this word, had it not changed the words before. ",
    "Move a slider: the model has to attend there.")];
}

/** The words that attend to a column, and the effect on them of hiding it. */
export function attending(pick, act) {
  const { answer } = pick;
  const { figure, trace, hand } = answer;
  const entry = figure.columns[pick.column];
  const users = byUse(figure, pick.column, LISTED);
  if (!users.length) return el("p", { class: "quiet" }, "No word attends to it.");
  const boxes = new Map(!hidesOne(answer) || hand.hidden(entry) ? [] : users.filter((row) => figure.at(row, pick.column) >= LEAST
    && sureness(trace, figure.rows[row]) !== null).slice(0, ASKED).map((row) => [row, effectBox()]));
  if (!answer.busy) effects.ask(act.app.engine, answer, boxes.size ? [entry] : [], null, (_, steps) =>
    boxes.forEach((box, row) => showEffect(box, trace, figure.rows[row], steps)));
  return el("ul", { class: "weights" }, users.map((place) => el("li", {},
    button(visible(figure.rows[place].name), () => act.select({ row: place, column: pick.column, of: answer.of }),
      { class: "plain name", dir: "auto", "data-key": `user-${place}` }), bar(figure.at(place, pick.column)),
    el("span", { class: "number" }, percent(figure.at(place, pick.column))), boxes.get(place))));
}

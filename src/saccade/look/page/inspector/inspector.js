// The inspector: what is selected, the numbers behind it, and what can be done with it.
import { button, byId, el, redraw } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { shiftOf } from "saccade/stage/diff";
import { byUse, shownToken, strongest, sureness, unknownTokens } from "saccade/trace/fold";

const LISTED = 6;
const LIKELY = 0.01;
const END = "<eos>";

/** Sliders keep the pointer while one drags: until then, new answers change their numbers only. */
let held = null;

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
    const more = held?.input === input;
    held = { input, follows };
    hand.pull(rowEntry, columnEntry, Number(input.value), more);
  });
  for (const done of ["change", "blur"]) {
    input.addEventListener(done, () => {
      if (!held) return;
      held = null;
      hand.app.update({});
    });
  }
  follows.push(({ answer: { figure: fresh } }) => {
    if (held?.input === input || row >= fresh.rows.length || column >= fresh.columns.length) return;
    input.value = fresh.at(row, column).toFixed(2);
    output.textContent = percent(fresh.at(row, column));
  });
  return { input, output };
}

function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

/** The words that a row attends to: sliders where weights can be set, else bars. */
function attended(pick, select, follows) {
  const { answer, row } = pick;
  const { figure, hand } = answer;
  const places = strongest(figure, row, LISTED, 0);
  if (pick.column !== null && !places.includes(pick.column)) places.push(pick.column);
  return el("ul", { class: "weights" }, places.map((column) => {
    const name = button(visible(figure.columns[column].name), () => select({ row: null, column, of: answer.of }),
      { class: "plain name", dir: "auto", "data-key": `name-${column}` });
    if (!hand.canPull) {
      return el("li", {}, name, bar(figure.at(row, column)), el("span", { class: "number" },
        percent(figure.at(row, column))));
    }
    const made = slider({ answer, row, column }, follows);
    return el("li", { class: column === pick.column ? "chosen" : null }, name, made.input, made.output);
  }));
}

/** Other words for each token of a written word; the likely ones first, the others on request. */
function instead(pick) {
  const { answer, row } = pick;
  const { trace, hand, figure } = answer;
  const steps = figure.rows[row].places.filter((place) => trace.steps[place]);
  const lists = steps.map((step) => {
    const { token: chosen, text, candidates } = trace.steps[step];
    const others = candidates.filter(([token, name]) => token !== chosen && name !== END);
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
  return steps.length > 0 && el("section", { id: "instead" }, el("h3", {}, "Say instead"), lists);
}

const told = (...facts) => facts.filter(Boolean).join(" · ");

function title(name, facts) {
  return el("header", {}, el("h2", { dir: "auto" }, visible(name)), facts);
}

/** How sure the model is of a selected word, and how sure it was before a change. */
function surenessOf({ answer, row }) {
  const entry = answer.figure.rows[row];
  const sure = answer.site && answer.site.rows !== "target" ? null : entry && sureness(answer.trace, entry);
  if (sure === null || sure === undefined) return "";
  const shift = shiftOf(answer, entry);
  return `${percent(sure)} sure${shift ? ` (was ${percent(shift[0])})` : ""}`;
}

/** The word of the other lane that was selected last, or null. */
function lastOf({ answer, app }, part, list) {
  const last = app.recent[part];
  return last && last.of === answer.of && last.place < list.length ? last.place : null;
}

const lookHere = (answer, row, column, label) => answer.hand.canPull && !answer.hand.hidden(answer.figure.columns[column])
  && button(label, () => answer.hand.look(answer.figure.rows[row], answer.figure.columns[column]),
    { class: "look", "data-key": "look-here", dir: "auto" });

function row(pick, act, follows) {
  const { answer } = pick;
  const { figure, trace, site, hand } = answer;
  const entry = figure.rows[pick.row];
  const weights = site && figure.columns.length > 0;
  const facts = el("p", {}, surenessOf(pick));
  follows.push((fresh) => { facts.textContent = surenessOf(fresh); });
  const last = lastOf({ answer, app: act.app }, "column", figure.columns);
  const look = last !== null && lookHere(answer, pick.row, last, `Look at “${visible(figure.columns[last].name)}”`);
  return [
    title(entry.name, facts),
    look && el("p", { class: "do" }, look),
    weights && el("section", {}, el("h3", {}, "Attends to"),
      attended(pick, act.select, follows),
      hand.canPull && el("p", { class: "quiet" }, "Move a slider: the model has to attend there.")),
    site?.rows !== "source" && instead(pick),
    trace.steps[entry.places[0]] && el("p", {}, button("Show this step in numbers", () => act.step(entry),
      { class: "small", "data-key": "to-step" })),
  ];
}

function column(pick, act) {
  const { answer } = pick;
  const { figure, hand, site } = answer;
  const entry = figure.columns[pick.column];
  const hidden = hand.hidden(entry);
  const source = (site?.columns ?? "source") === "source";
  const users = site ? byUse(figure, pick.column, LISTED) : [];
  const unknown = unknownTokens(answer.trace.sides.get(site?.columns ?? "source"));
  const looker = lastOf({ answer, app: act.app }, "row", figure.rows) ?? users[0] ?? null;
  return [
    title(entry.name, el("p", {}, told(hidden && "hidden", entry.places.some((place) => unknown.has(place))
      && "never seen in training: the model reads it as an unknown word"))),
    source && hand.canHide && el("p", { class: "do" }, button(hidden ? "Show again" : "Hide",
      () => hand.toggle(entry), { class: "main", "data-key": "hide", title: "H" }),
    looker !== null && lookHere(answer, looker, pick.column, `“${visible(figure.rows[looker].name)}”: look here`),
    el("span", { class: "quiet" }, hidden ? "No attention may go here now." : "Hidden, it gets no attention.")),
    site && el("section", {}, el("h3", {}, "Attended to by"),
      users.length ? el("ul", { class: "weights" }, users.map((place) => el("li", {},
        button(visible(figure.rows[place].name), () => act.select({ row: place, column: pick.column, of: answer.of }),
          { class: "plain name", dir: "auto", "data-key": `user-${place}` }), bar(figure.at(place, pick.column)),
        el("span", { class: "number" }, percent(figure.at(place, pick.column))))))
        : el("p", { class: "quiet" }, "No word attends to it.")),
  ];
}

/** One line that follows the pointer, so that numbers stand beside what is pointed at, not below it. */
const line = el("p", { class: "readout", "aria-live": "polite" });

function readout(scene, light) {
  const name = (entry) => visible(entry.name);
  const idle = scene.first?.site ? "Point at a word to see what it attends to." : "Select a word to see its alternatives.";
  light.listen(() => {
    const answer = scene.answers[light.of];
    const figure = answer?.figure;
    const [r, c] = [light.row, light.column];
    let text = "";
    if (figure && answer.site && r !== null && r < figure.rows.length) {
      const places = c !== null && c < figure.columns.length ? [c] : strongest(figure, r, 3);
      const list = places.map((place) => `${name(figure.columns[place])} ${percent(figure.at(r, place))}`);
      text = `${name(figure.rows[r])} → ${list.join(", ") || "nothing in particular"}`;
    } else if (figure && answer.site && c !== null && c < figure.columns.length) {
      const list = byUse(figure, c, 3).map((place) => `${name(figure.rows[place])} ${percent(figure.at(place, c))}`);
      text = `${name(figure.columns[c])} ← ${list.join(", ") || "no word"}`;
    }
    if (line.textContent !== (text || idle)) line.textContent = text || idle;
  });
}

function idle(scene, app) {
  return app.engine.live && scene.first?.hand.canHide && el("div", { class: "idle" }, el("p", {},
    "Select a word to ask what would change."), el("ul", {},
  el("li", {}, el("b", {}, "Hide"), " a word that was read."), el("li", {}, el("b", {}, "Say"), " another word instead."),
  el("li", {}, el("b", {}, "Move"), " attention with a slider.")));
}

/** Draw the inspector; while a slider is held, only its numbers change. */
export function drawInspector(scene, app, light) {
  const { pick } = scene;
  readout(scene, light);
  if (held && pick) {
    for (const follow of held.follows) follow(pick);
    return;
  }
  const follows = [];
  const act = { app, select: (place) => app.update({ pick: place }),
    step: (entry) => app.update({ lens: "step", step: entry.places[0] }) };
  const box = byId("inspector");
  box.classList.toggle("filled", pick !== null);
  const close = () => app.update({ pick: null });
  redraw(box, el("div", { class: "inspector-head" }, line,
    pick && button("×", close, { class: "plain", "aria-label": "Close", "data-key": "close-inspector" })),
  pick ? [scene.answers.length > 1 && el("p", { class: "quiet" }, visible(pick.answer.label)),
    ...(pick.row === null ? column(pick, act) : row(pick, act, follows))] : idle(scene, app),
  pick && app.engine.live && !pick.answer.hand.possible && pick.answer.model === null
    && el("p", { class: "quiet" }, "This is a saved answer: it can be viewed, not changed."));
}

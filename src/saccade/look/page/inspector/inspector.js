// The inspector: what is selected, the numbers behind it, and what can be done with it.
import { button, byId, el, redraw } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { byUse, strongest, sureness, unknownTokens } from "saccade/trace/fold";

const LISTED = 6;
const LIKELY = 0.01;
const END = "<eos>";

/** Sliders keep the pointer while one drags: until then, a new answer changes their numbers only. */
let held = null;

function slider({ answer, row, column }, numbers) {
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
    held = { input, numbers };
    hand.pull(rowEntry, columnEntry, Number(input.value), more);
  });
  for (const done of ["change", "blur"]) {
    input.addEventListener(done, () => {
      if (!held) return;
      held = null;
      hand.app.draw();
    });
  }
  const follow = (fresh) => {
    if (held?.input === input || row >= fresh.rows.length || column >= fresh.columns.length) return;
    input.value = fresh.at(row, column).toFixed(2);
    output.textContent = percent(fresh.at(row, column));
  };
  return { input, output, follow };
}

function bar(share) {
  return el("span", { class: "bar", "aria-hidden": "true" },
    el("span", { css: { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%` } }));
}

/** The words that a row attends to: sliders where weights can be set, else bars. */
function attended(pick, select, numbers) {
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
    const made = slider({ answer, row, column }, numbers);
    numbers.push(made.follow);
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
    return el("div", {}, steps.length > 1 && el("p", { class: "quiet" }, `in place of “${visible(text)}”`),
      likely.length ? shown(likely) : el("p", { class: "quiet" }, "No other word has 1 % or more."),
      more.length > 0 && el("details", {}, el("summary", { "data-key": `more-${step}` }, "less likely"), shown(more)));
  });
  return steps.length > 0 && el("section", { id: "instead" }, el("h3", {}, "Say instead"), lists);
}

function title(name, ...facts) {
  return el("header", {}, el("h2", { dir: "auto" }, visible(name)), el("p", {}, facts.filter(Boolean).join(" · ")));
}

function before(answer, entry) {
  const { diff, base } = answer;
  const place = diff?.after.findIndex((each) => each.places[0] === entry.places[0]) ?? -1;
  const old = place >= 0 && diff.kept[place] !== null ? sureness(base, diff.before[diff.kept[place]]) : null;
  return old === null ? "" : ` (was ${percent(old)})`;
}

function row(pick, act, numbers) {
  const { answer } = pick;
  const entry = answer.figure.rows[pick.row];
  const sure = answer.site && answer.site.rows !== "target" ? null : sureness(answer.trace, entry);
  const weights = answer.site && answer.figure.columns.length > 0;
  return [
    title(entry.name, sure !== null && `${percent(sure)} sure${before(answer, entry)}`),
    weights && el("section", {}, el("h3", {}, "Attends to"),
      attended(pick, act.select, numbers),
      answer.hand.canPull && el("p", { class: "quiet" }, "Move a slider: the model has to attend there.")),
    answer.site?.rows !== "source" && instead(pick),
    answer.trace.steps[entry.places[0]] && el("p", {}, button("Show this step in numbers", () => act.step(entry),
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
  return [
    title(entry.name, hidden && "hidden", entry.places.some((place) => unknown.has(place))
      && "never seen in training: the model reads it as an unknown word"),
    source && hand.canHide && el("p", { class: "do" }, button(hidden ? "Show again" : "Hide",
      () => hand.toggle(entry), { class: "main", "data-key": "hide", title: "H" }),
    el("span", { class: "quiet" }, hidden ? "No attention may go here now." : "No attention may go here then.")),
    site && el("section", {}, el("h3", {}, "Attended to by"),
      users.length ? el("ul", { class: "weights" }, users.map((place) => el("li", {},
        button(visible(figure.rows[place].name), () => act.select({ row: place, column: pick.column, of: answer.of }),
          { class: "plain name", dir: "auto", "data-key": `user-${place}` }), bar(figure.at(place, pick.column)),
        el("span", { class: "number" }, percent(figure.at(place, pick.column))))))
        : el("p", { class: "quiet" }, "No word attends to it.")),
  ];
}

/** One line that follows the pointer, so that numbers stand beside what is pointed at, not below it. */
function readout(scene, light) {
  const line = el("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
  const name = (entry) => visible(entry.name);
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
    line.textContent = text || "\u00a0";
  });
  return line;
}

function idle(scene, app) {
  const live = app.engine.live;
  return el("div", { class: "idle" }, el("p", {}, scene.first?.site
    ? "Point at a word to see what it attends to. Select one to ask what would change."
    : "Select a word to see what else could have been written."),
  live && scene.first?.hand.canHide && el("ul", {}, el("li", {}, el("b", {}, "Hide"), " a word that was read."),
    el("li", {}, el("b", {}, "Say"), " another word instead."),
    el("li", {}, el("b", {}, "Move"), " attention with a slider.")));
}

/** Draw the inspector; while a slider is held, only its numbers change. */
export function drawInspector(scene, app, light) {
  const { pick } = scene;
  if (held && pick) {
    for (const follow of held.numbers) follow(pick.answer.figure);
    return;
  }
  const numbers = [];
  const act = { select: (place) => app.update({ pick: place }),
    step: (entry) => app.update({ lens: "step", step: entry.places[0] }) };
  const box = byId("inspector");
  box.classList.toggle("filled", pick !== null);
  const close = () => app.update({ pick: null });
  redraw(box, el("div", { class: "inspector-head" }, readout(scene, light),
    pick && button("×", close, { class: "plain", "aria-label": "Close", "data-key": "close-inspector" })),
  pick ? [scene.answers.length > 1 && el("p", { class: "quiet" }, visible(pick.answer.label)),
    ...(pick.row === null ? column(pick, act) : row(pick, act, numbers))] : idle(scene, app),
  pick && app.engine.live && !pick.answer.hand.possible && pick.answer.model === null
    && el("p", { class: "quiet" }, "This is a saved answer: it can be viewed, not changed."));
}

// The inspector: what is selected, the numbers behind it, and what can be done with it.
import { button, byId, el, find, redraw } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { attended, attending, held, stopEffects } from "saccade/inspector/attended";
import { instead } from "saccade/inspector/instead";
import { happened } from "saccade/stage/changes";
import { shiftOf } from "saccade/stage/diff";
import { byUse, strongest, sureness, unknownTokens } from "saccade/trace/fold";

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
  return `${percent(sure)} sure${shift && percent(shift[0]) !== percent(shift[1]) ? ` (was ${percent(shift[0])})` : ""}`;
}

/** The word of the other lane that was selected last, or null. */
function lastOf({ answer, app }, part, list) {
  const last = app.recent[part];
  return last && last.of === answer.of && last.place < list.length ? last.place : null;
}

/** The button that makes a word attend to one other word only, unless it does. */
const lookHere = (answer, row, column, label) => answer.hand.canPull && !answer.hand.hidden(answer.figure.columns[column])
  && percent(answer.figure.at(row, column)) !== percent(1) && button(label, () => answer.hand.look(answer.figure.rows[row], answer.figure.columns[column]),
    { class: "look", "data-key": "look-here", dir: "auto" });

function row(pick, act, follows) {
  const { answer } = pick;
  const { figure, trace, site } = answer;
  const entry = figure.rows[pick.row];
  const writes = (site?.rows ?? "target") === "target";
  const weights = site && figure.columns.length > 0;
  const facts = el("p", {}, surenessOf(pick));
  follows.push((fresh) => { facts.textContent = surenessOf(fresh); });
  const last = lastOf({ answer, app: act.app }, "column", figure.columns);
  const look = last !== null && lookHere(answer, pick.row, last, `Make it attend only to “${visible(figure.columns[last].name)}”`);
  return [title(entry.name, facts), [
    weights && el("section", {}, el("h3", {}, "Attends to"), attended(pick, act, follows)),
    look && el("p", { class: "do" }, look),
    writes && instead(pick),
    writes && trace.steps[entry.places[0]] && el("p", {}, button("Show this step in numbers", () => act.step(entry),
      { class: "small", "data-key": "to-step" })),
  ]];
}

/** Buttons that hide a word from all words, or from the one that was followed. */
function hiding(answer, entry, from) {
  const { hand, figure } = answer;
  const hidden = hand.hidden(entry);
  const one = from !== null && hand.canPull && !hidden ? figure.rows[from] : null;
  return [button(hidden ? "Show again" : "Hide from all words", () => hand.toggle(entry),
    { class: "main", "data-key": "hide", title: "H" }),
  one && button(hand.hiddenFrom(one, entry) ? `Show to “${visible(one.name)}” again` : `Hide from “${visible(one.name)}” only`,
    () => hand.toggleFor(one, entry), { class: "look", "data-key": "hide-one", dir: "auto" })];
}

function column(pick, act) {
  const { answer } = pick;
  const { figure, hand, site } = answer;
  const entry = figure.columns[pick.column];
  const hidden = hand.hidden(entry);
  const source = (site?.columns ?? "source") === "source";
  const unknown = unknownTokens(answer.trace.sides.get(site?.columns ?? "source"));
  const [user] = site ? byUse(figure, pick.column, 1) : [];
  const looker = lastOf({ answer, app: act.app }, "row", figure.rows) ?? user ?? null;
  return [title(entry.name, el("p", {}, told(hidden && "hidden: no attention may go here", entry.places.some((place) =>
    unknown.has(place)) && "not in the model's vocabulary: it reads an unknown word"))), [
    source && hand.canHide && el("p", { class: "do" }, hiding(answer, entry, looker),
      looker !== null && lookHere(answer, looker, pick.column, `Make “${visible(figure.rows[looker].name)}” attend only here`)),
    site && el("section", {}, el("h3", {}, "Attended to by"), attending(pick, act)),
  ]];
}

/** One line that follows the pointer, so that numbers stand beside what is pointed at, not below it. */
const line = el("p", { class: "readout", "aria-live": "polite" });

function readout(scene, light) {
  const name = (entry) => visible(entry.name);
  const places = scene.first?.figure?.own && scene.first.figure.side !== null;
  const idle = scene.first?.trace.glimpses ? "Point at a glimpse to see what it saw." : places ? "Point at a place of the image to see where it attends."
    : scene.first?.site ? "Point at a word to see what it attends to." : "Select a word to see its alternatives.";
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
  if (scene.first?.trace.glimpses) {
    return app.engine.live && el("div", { class: "idle" }, el("p", {}, "Select a glimpse, then click where it is to look. The later ones follow from there."));
  }
  return app.engine.live && scene.first?.hand.canHide && el("div", { class: "idle" }, el("p", {},
    "Select a word to ask what would change."), el("ul", {},
  el("li", {}, el("b", {}, "Hide"), " a word that was read."), el("li", {}, el("b", {}, "Say"), " another word instead."),
  el("li", {}, el("b", {}, "Move"), " attention with a slider.")));
}

let followed = null;
/** The key of the word that was selected last; it takes the focus if the inspector loses it. */

/** Draw the inspector; while a slider is held, only its numbers change. */
export function drawInspector(scene, app, light) {
  const { pick } = scene;
  readout(scene, light);
  if (held.input && pick) {
    for (const follow of held.follows) follow(pick);
    return;
  }
  if (!pick || pick.answer.busy) stopEffects();
  const follows = [];
  const act = { app, select: (place) => app.update({ pick: place }),
    step: (entry) => app.update({ lens: "step", step: entry.places[0] }) };
  const box = byId("inspector");
  const inside = box.contains(document.activeElement);
  box.classList.toggle("filled", pick !== null);
  followed = find('.word[aria-pressed="true"]')?.dataset.key ?? followed;
  const close = (event) => {
    if (event.detail) event.currentTarget.blur(); // by pointer: nothing is to be lit by the focus
    app.update({ pick: null });
  };
  const [head, rest] = pick ? (pick.row === null ? column(pick, act) : row(pick, act, follows)) : [null, idle(scene, app)];
  redraw(box, el("div", { class: "inspector-head" }, head,
    pick && button("×", close, { class: "plain", "aria-label": "Close", "data-key": "close-inspector" })), line,
  pick && scene.answers.length > 1 && el("p", { class: "quiet" }, visible(pick.answer.label)),
  app.sheet && pick && happened(pick.answer, app, true), rest,
  pick && app.engine.live && !pick.answer.hand.possible && pick.answer.model === null
    && el("p", { class: "quiet" }, "This is a saved answer: it can be viewed, not changed."));
  if (inside && !box.contains(document.activeElement)) {
    const next = find('.hide, [data-key="hide"]', box) ?? find(`.word[data-key="${followed}"]`) ?? byId("stage");
    next.focus({ preventScroll: true });
  }
}

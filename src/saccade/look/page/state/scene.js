// What the page draws: each answer with its attention site, its figure, what was changed, and what can be done.
import { Hand } from "saccade/inspector/hand";
import { counterparts, difference } from "saccade/stage/diff";
import { figureOf, siteOf } from "saccade/trace/fold";

/** The chosen head, or null for the mean or if this site does not have it. */
const headOf = (site, state) =>
  (site && site.heads > 1 && state.head !== null && state.head < site.heads ? state.head : null);

function answerOf(app, each, of) {
  const { state } = app;
  if (!each.trace) return { ...each, of, figure: null, site: null };
  const { trace, base } = each;
  const site = siteOf(trace, state.site);
  const head = headOf(site, state);
  const figure = figureOf(trace, site, { head, unit: state.unit, sinks: state.sinks });
  const diff = base ? difference(base, trace) : null;
  return { ...each, of, site, head, figure, diff, hand: new Hand(app, each, site) };
}

/**
 * The scene: {state, answers, first, pick}. `first` is the first answer with attention, else the first with a trace, or
 * null; `pick` is the selection, if it exists.
 */
export function sceneOf(app) {
  const answers = app.shown().map((each, of) => answerOf(app, each, of));
  const first = answers.find((each) => each.site) ?? answers.find((each) => each.trace) ?? null;
  return { state: app.state, answers, first, pick: pickOf(app.state.pick, answers) };
}

const namesOf = (figure) => figure.rows.map(({ name }) => name);

/** The written word that is followed: the one selected, or else the last one that was; {of, row, names} or null. */
export function followedOf({ answers, pick }, app) {
  const [of, row] = pick && pick.row !== null ? [pick.of, pick.row] : [app.recent.row?.of, app.recent.row?.place];
  const figure = answers[of]?.figure;
  return figure && row < figure.rows.length ? { of, row, names: namesOf(figure) } : null;
}

/** How much of a changed word's attention moved, compared with the word that it replaced. */
function moved({ base, trace, diff, site }, word) {
  const [now, then] = [trace, base].map((each) => {
    const own = each.sites.find(({ name }) => name === site?.name);
    return own && figureOf(each, own, { head: null, unit: "words", sinks: "shown" });
  });
  const place = diff.after.indexOf(word);
  const old = diff.stood[place] ?? null;
  if (!now || !then || old === null || old >= then.rows.length || place >= now.rows.length) return 0;
  return now.columns.reduce((sum, _, column) => sum + Math.abs(now.at(place, column) - then.at(old, column)), 0);
}

/** The changed word of an answer whose attention moved most, as a selection, or null. */
function mostChanged(answer) {
  const { diff, figure, site, hand, of } = answer;
  if (!diff || !figure || (site && site.rows !== "target")) return null;
  const own = diff.fresh.filter((each) => !hand.yours(each));
  const sizes = own.map((word) => moved(answer, word));
  const word = own[sizes.indexOf(Math.max(...sizes))] ?? diff.fresh[0];
  const row = word ? figure.rows.findIndex((entry) => entry.places.includes(word.places[0])) : -1;
  return row < 0 ? null : { row, column: null, of };
}

/** What to select after an intervention: the followed word, or the one in its place; else the word that changed most; or null. */
export function nextPick({ answers, pick }, followed) {
  const figure = followed && answers[followed.of]?.figure;
  if (figure?.rows.length) {
    const row = counterparts(followed.names, namesOf(figure)).indexOf(followed.row);
    return { row: row < 0 ? Math.min(followed.row, figure.rows.length - 1) : row, column: null, of: followed.of };
  }
  return [...(pick ? [pick.answer] : []), ...answers].map(mostChanged).find(Boolean) ?? null;
}

const [WIDEST, LOWEST, CLEAR] = [700, 500, 0.5];
/** Width and height of the window of a phone, and the weight of a clear link. */

/** What to select when an answer arrives on a phone, where nothing can be pointed at: a word with a clear link; or null. A link
 * to another lens is followed without, as the inspector would cover that. */
export function arrivalPick({ state, first, pick }, app) {
  const phone = innerWidth <= WIDEST && innerHeight >= LOWEST;
  if (!phone || pick || state.lens !== "words" || app.editing || !first?.site || !app.engine.live) return null;
  const { figure, of } = first;
  const clear = figure.rows.findIndex((entry, row) => !entry.sink
    && figure.columns.some((_, column) => figure.at(row, column) >= CLEAR));
  return figure.rows.length ? { row: Math.max(0, clear), column: null, of } : null;
}

function pickOf(pick, answers) {
  const answer = pick && answers[pick.of];
  if (!answer?.figure) return null;
  const within = (place, list) => place === null || place < list.length;
  if (!within(pick.row, answer.figure.rows) || !within(pick.column, answer.figure.columns)) return null;
  return { ...pick, answer };
}

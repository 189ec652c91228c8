// What the page draws: each answer with its attention site, its figure, what was changed, and what can be done.
import { Hand } from "saccade/inspector/hand";
import { difference } from "saccade/stage/diff";
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

/** The selection after an intervention: the first word that it changed, to show its new attention; or null. */
export function changedPick({ answers, pick }) {
  for (const { of, diff, figure, site, hand } of [...(pick ? [pick.answer] : []), ...answers]) {
    if (!diff || (site && site.rows !== "target")) continue;
    const word = diff.fresh.find((each) => !hand.yours(each)) ?? diff.fresh[0];
    const row = word ? figure.rows.findIndex((entry) => entry.places.includes(word.places[0])) : -1;
    if (row >= 0) return { row, column: null, of };
  }
  return null;
}

function pickOf(pick, answers) {
  const answer = pick && answers[pick.of];
  if (!answer?.figure) return null;
  const within = (place, list) => place === null || place < list.length;
  if (!within(pick.row, answer.figure.rows) || !within(pick.column, answer.figure.columns)) return null;
  return { ...pick, answer };
}

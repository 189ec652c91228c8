// Interventions on one answer: hidden words, other words, and attention weights set by hand. Each can be undone.
import { UNTOUCHED } from "saccade/state/link";
import { entriesOf, writesTokens } from "saccade/trace/fold";

const listed = (value) => (Array.isArray(value) ? value : []);
const PACE = 50;
/** Least milliseconds between requests while a slider moves. */

export class Hand {
  constructor(app, answer, site) {
    this.app = app;
    this.trace = answer.trace;
    this.model = answer.model;
    this.site = site;
    /** Whether this answer can be changed at all: a label is not written token by token. */
    this.possible = app.engine.live && answer.model !== null && writesTokens(answer.trace);
    const crossing = answer.trace.sites.some((each) => each.rows === "target" && each.columns === "source");
    const steers = this.possible || (app.engine.live && answer.model !== null && Boolean(answer.trace.glimpses));
    this.canHide = steers && crossing;
    this.canPull = this.canHide && site !== null && site.rows === "target" && site.columns === "source";
  }

  get state() {
    return this.app.state;
  }

  /** Drop interventions by token id that belong to another model, whose token ids differ. */
  #change(changes, how) {
    const mine = this.state.on === null || this.state.on === this.model;
    const own = mine ? this.state : { ...this.state, ...UNTOUCHED, hide: this.state.hide };
    this.app.update({ force: own.force, block: own.block, pull: own.pull, ...changes(own), on: this.model }, how);
  }

  /** The number of the source word that holds a column's first token, as `hide` counts them. */
  wordOf(column) {
    const source = this.trace.sides.get("source");
    return source ? entriesOf(source, "words").findIndex((entry) => entry.places.includes(column.places[0])) : -1;
  }

  /** The source tokens that no attention may attend to: hidden now, or when the trace was saved. */
  hidden(column) {
    if (this.model === null) return column.places.some((place) => listed(this.trace.options.block).includes(place));
    const mine = this.state.on === null || this.state.on === this.model;
    return this.state.hide.includes(this.wordOf(column))
      || (mine && column.places.some((place) => this.state.block.includes(place)));
  }

  /** The weights set by hand in this answer, [step, token, weight]. */
  get pulls() {
    return listed(this.trace.options.pull);
  }

  pulled(row, column) {
    return this.pulls.some(([step, place]) => row.places.includes(step) && column.places.includes(place));
  }

  /** True for a word that the user gave, not for those that the model had written before it. */
  yours(word) {
    const given = listed(this.trace.options.force).length;
    const likeliest = ({ candidates, token }) => candidates[0]?.[0] === token;
    return word.places.some((place) => place < given
      && (place === given - 1 || (this.trace.steps[place] && !likeliest(this.trace.steps[place]))));
  }

  hide(column) {
    this.hideAll([column]);
  }

  /** Hide several columns, such as a stretch of sound, in one step. */
  hideAll(columns) {
    const source = entriesOf(this.trace.sides.get("source"), "words");
    const fresh = columns.filter((column) => !this.hidden(column));
    const hidden = source.filter((entry) => this.hidden(entry)).length;
    if (hidden + fresh.length >= source.length) {
      this.app.say("One word has to stay visible: hiding all leaves nothing to attend to.");
      return;
    }
    const hide = [...new Set([...this.state.hide, ...fresh.map((column) => this.wordOf(column))])].sort((one, two) => one - two);
    const pull = this.state.pull.filter(([, place]) => !fresh.some((column) => column.places.includes(place)));
    this.app.update({ hide, pull }, { push: true, act: true });
  }

  show(column) {
    const number = this.wordOf(column);
    this.app.update({ hide: this.state.hide.filter((other) => other !== number),
      block: this.state.block.filter((place) => !column.places.includes(place)) }, { push: true, act: true });
  }

  toggle(column) {
    if (this.hidden(column)) this.show(column);
    else this.hide(column);
  }

  /** Let the answer begin with the tokens up to a step, and then `token`. */
  say(step, token) {
    const tokens = [...this.trace.steps.slice(0, step).map((each) => each.token), token];
    this.#change((own) => ({ force: tokens, pull: own.pull.filter(([at]) => at <= step) }), { push: true, act: true });
  }

  begin(tokens) {
    this.#change(() => ({ force: tokens, pull: [] }), { push: true, act: true });
  }

  #pull(row, column, weight, how) {
    const share = Math.floor((1e4 * weight) / column.places.length + 1e-6) / 1e4;
    const fresh = row.places.flatMap((step) => column.places.map((place) => [step, place, share]));
    const touched = new Set(fresh.map(([step, place]) => `${step} ${place}`));
    this.#change((own) => {
      const others = own.pull.filter(([step, place]) => !touched.has(`${step} ${place}`));
      return { pull: [...fitted(others, row.places, 1 - weight), ...fresh] };
    }, how);
  }

  /** Whether a column is hidden from a row alone. */
  hiddenFrom(row, column) {
    return row.places.every((step) => column.places.every((place) =>
      this.pulls.some(([at, to, weight]) => at === step && to === place && weight === 0)));
  }

  /** Hide a column from a row alone, or show it to the row again. */
  toggleFor(row, column) {
    if (!this.hiddenFrom(row, column)) this.#pull(row, column, 0, { push: true, act: true });
    else {
      this.#change((own) => ({ pull: own.pull.filter(([step, place]) =>
        !row.places.includes(step) || !column.places.includes(place)) }), { push: true, act: true });
    }
  }

  /** Set the weight of a column for a row; `more`: as a further movement of the same slider. */
  pull(row, column, weight, more) {
    this.#pull(row, column, weight, { push: !more, soon: PACE, follow: true });
  }

  /** Let a row attend to nothing but a column. */
  look(row, column) {
    this.#pull(row, column, 1, { push: true, act: true });
  }
}

/** The other weights set for these steps, scaled down to add up to `room` at most. */
function fitted(pull, steps, room) {
  return pull.map(([step, place, weight]) => {
    if (!steps.includes(step)) return [step, place, weight];
    const total = pull.filter(([at]) => at === step).reduce((sum, [, , each]) => sum + each, 0);
    return [step, place, total > room ? Math.floor((1e4 * weight * room) / total) / 1e4 : weight];
  });
}

// Interventions in the search: forced tokens, blocked source positions, and attention weights set by the user.
import { button, el } from "saccade/dom";
import { byUse, nameOf } from "saccade/fold";
import { closeMenu, openMenu } from "saccade/menu";
import { NO_INTERFERENCE } from "saccade/state";
import { percent, visible } from "saccade/words";

const USERS = 6;
export const NEEDS_MODEL =
  "This needs a model: the page was saved without one. Open the explorer with saccade serve MODEL.";

/** The interventions of one panel: they change the state, which sends a request; without a model, none is possible. */
export class Hand {
  constructor(trace, model, state, update) {
    Object.assign(this, { trace, model, state, update });
    this.possible = model !== null;
  }

  /** Drop interventions on another model, whose token numbers differ. */
  #change(changes) {
    closeMenu();
    const own = this.state.on === null || this.state.on === this.model ? this.state
      : { ...this.state, ...NO_INTERFERENCE };
    this.update({ force: own.force, block: own.block, pull: own.pull, ...changes(own), on: this.model });
  }

  force(step, token) {
    const tokens = [...this.trace.steps.slice(0, step).map((each) => each.token), token];
    this.#change((own) => ({ force: tokens, pull: own.pull.filter(([at]) => at <= step) }));
  }

  forceAll(tokens) {
    this.#change(() => ({ force: tokens }));
  }

  block(places) {
    this.#change((own) => ({ block: [...new Set([...own.block, ...places])].sort((one, two) => one - two) }));
  }

  free(places) {
    this.#change((own) => ({ block: own.block.filter((place) => !places.includes(place)) }));
  }

  pull(steps, places, weight) {
    const share = Math.round((1e4 * weight) / places.length) / 1e4;
    const fresh = steps.flatMap((step) => places.map((place) => [step, place, share]));
    const touched = new Set(fresh.map(([step, place]) => `${step} ${place}`));
    this.#change((own) => ({ pull: [...own.pull.filter(([step, place]) => !touched.has(`${step} ${place}`)),
      ...fresh] }));
  }
}

const reason = (hand) => !hand.possible && el("p", { class: "quiet" }, NEEDS_MODEL);

/** Show a menu with the candidate tokens of each step of a word. */
export function alternatives(anchor, hand, entry) {
  const steps = entry.places.filter((place) => hand.trace.steps[place]);
  const lists = steps.map((step) => {
    const { token: chosen, text, candidates } = hand.trace.steps[step];
    return [steps.length > 1 && el("p", { class: "quiet" }, `instead of “${visible(text)}”`),
      el("ul", { class: "choices" }, candidates.map(([token, other, logarithm]) => el("li", {},
        button([el("span", { dir: "auto" }, visible(other)),
          el("span", { class: "number" }, percent(Math.exp(logarithm)))],
          () => hand.force(step, token), { disabled: !hand.possible || token === chosen,
            "aria-current": token === chosen ? "true" : null }))))];
  });
  const none = !steps.length && el("p", { class: "quiet" }, "Nothing else is known of this word.");
  openMenu(anchor, `Instead of ${visible(entry.name)}`, lists, none, reason(hand));
}

/** Show a menu to block or unblock attention to a source word. */
export function sourceMenu(anchor, hand, entry) {
  const blocked = entry.places.every((place) => hand.state.block.includes(place));
  const act = blocked ? button("Let the model look at it again", () => hand.free(entry.places),
    { disabled: !hand.possible })
    : button("Block: no attention may look at it", () => hand.block(entry.places), { disabled: !hand.possible });
  openMenu(anchor, visible(entry.name), el("div", { class: "choices" }, act), reason(hand));
}

/** Show a menu of a region: the words that attend to it, to change their weights, and a button to block it. */
export function regionMenu(anchor, hand, picture, region) {
  const entry = picture.columns[region];
  const blocked = hand.state.block.includes(region);
  const users = picture.looking ? byUse(picture, region, USERS) : [];
  const lines = users.map((row) => el("li", {}, button([el("span", { dir: "auto" }, visible(picture.rows[row].name)),
    el("span", { class: "number" }, percent(picture.at(row, region)))],
  () => pullMenu(anchor, hand, picture.rows[row], entry, picture.at(row, region)))));
  const act = blocked ? button("Let the model look there again", () => hand.free([region]),
    { disabled: !hand.possible })
    : button("Block: no attention may look there", () => hand.block([region]), { disabled: !hand.possible });
  openMenu(anchor, entry.name,
    picture.looking && el("p", { class: "quiet" }, users.length ? "Words that looked there" : "No word looked there."),
    users.length > 0 && el("ul", { class: "choices users" }, lines),
    el("div", { class: "choices" }, act),
    hand.possible && el("p", { class: "quiet" }, "Shift and a click block a region at once."), reason(hand));
}

/** Show a menu with a slider for one weight. */
export function pullMenu(anchor, hand, row, column, weight) {
  const slider = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: weight.toFixed(2),
    disabled: !hand.possible,
    "aria-label": `Weight of ${visible(column.name)} for ${visible(row.name)}` });
  const shown = el("output", {}, percent(weight));
  slider.addEventListener("input", () => { shown.textContent = percent(Number(slider.value)); });
  openMenu(anchor, `${visible(row.name)} looks at ${visible(column.name)}`,
    el("div", { class: "pull" }, slider, shown),
    el("div", { class: "choices" }, button("Pull the weight there",
      () => hand.pull(row.places, column.places, Number(slider.value)), { disabled: !hand.possible })),
    reason(hand));
}

const list = (value) => (Array.isArray(value) ? value : []);

/** The interventions as tags; with a model, each can be undone. */
export function tags(trace, state, model, update) {
  const given = model === null ? trace.options : state;
  if (model !== null && state.on !== null && state.on !== model) return null;
  const [force, block, pull] = ["force", "block", "pull"].map((name) => list(given[name]));
  const source = trace.sides.get("source");
  const word = (place) => (source ? visible(nameOf(source, place)) : `word ${place}`);
  const tag = (text, changes, key) => el("li", { class: "tag", dir: "auto" }, text,
    model !== null && button("×", () => update(changes),
      { class: "plain", "aria-label": `Take back: ${text}`, "data-key": key }));
  const shown = [];
  if (force.length) {
    const begin = trace.steps.slice(0, force.length).map((step) => visible(step.text)).join(" ");
    shown.push(tag(`begins with “${begin}”`, { force: [] }, "tag-force"));
  }
  for (const place of block) shown.push(tag(`“${word(place)}” blocked`,
    { block: block.filter((other) => other !== place) }, `tag-block-${place}`));
  for (const entry of pull.filter((each) => Array.isArray(each) && each.length === 3)) {
    const [step, place, weight] = entry;
    const text = `step ${Number(step) + 1}: “${word(place)}” pulled to ${percent(Number(weight))}`;
    shown.push(tag(text, { pull: pull.filter((other) => other !== entry) }, `tag-pull-${step}-${place}`));
  }
  if (!shown.length) return null;
  return el("div", { class: "tags" }, el("ul", { "aria-label": "Interferences" }, shown),
    model !== null && button("Reset all", () => update(NO_INTERFERENCE), { class: "small", "data-key": "reset" }));
}

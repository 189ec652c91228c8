// Interventions on one model, applied to another: token ids differ, so tokens are matched by their texts.

const same = (one, two) => one?.tokens.join("\n") === two?.tokens.join("\n");

/** The other model's token ids of these texts, as far as its own answer has them; else undefined. */
function numbersOf(texts, trace) {
  const known = new Map(trace.steps.flatMap((step) => [...step.candidates.map(([token, text]) => [text, token]),
    [step.text, step.token]]));
  return texts.map((text, place) => (trace.steps[place]?.text === text ? trace.steps[place].token : known.get(text)));
}

/**
 * The interventions of `state` for another model than they were made on. `owner` is the answer of the model that they
 * were made on, `base` the untouched answer of the other. Returns {force, pull, why}: `why` says what could not be shared.
 */
export function sharedChanges(state, owner, base) {
  const nothing = { force: [], pull: [] };
  if (!owner) return { ...nothing, why: "the answer of the other model is not there" };
  const texts = owner.steps.slice(0, state.force.length).map((step) => step.text);
  const force = numbersOf(texts, base);
  const missing = force.indexOf(undefined);
  if (missing >= 0) return { ...nothing, why: `“${texts[missing]}” is no token that this model considered` };
  if (!state.pull.length) return { force, pull: [], why: null };
  if (!same(owner.sides.get("source"), base.sides.get("source"))) {
    return { force, pull: [], why: "this model splits the text into other tokens, so the weights belong elsewhere" };
  }
  const fits = ([step]) => step < force.length || base.steps[step]?.text === owner.steps[step]?.text;
  return state.pull.every(fits) ? { force, pull: state.pull, why: null }
    : { force, pull: [], why: "this model wrote other words where the weights were set" };
}

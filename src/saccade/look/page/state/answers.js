// Answers of the models: requests with a cache, the untouched answer beside the changed one, and failures that erase
// nothing.
import { Refusal } from "saccade/engine/server";
import { filled, inputOf } from "saccade/state/input";
import { UNTOUCHED, untouched } from "saccade/state/link";
import { entriesOf } from "saccade/trace/fold";
import { Fault, openTrace } from "saccade/trace/open";

const KEPT = 60;
/** Traces in the cache, so that undoing is instant. */
const RETRY = 2000;
/** Milliseconds between attempts while the server does not answer. */
const SLOW = 150;
/** Milliseconds after which the page shows that it waits. */

/** The tokens of hidden words in one model's source; words that this model splits differently are left out. */
export function hiddenTokens(trace, hide) {
  const source = trace?.sides.get("source");
  if (!source || !hide.length) return [];
  const entries = entriesOf(source, "words");
  return hide.flatMap((number) => entries[number]?.places ?? []);
}

/** The body of a trace request. Interventions by token number are sent only to the model that they were made on. */
export function requestOf(state, { name: model, input: kind }, image, base) {
  /** @type {Record<string, any>} */
  const request = { model, ...(image === null ? { input: inputOf(state, kind) } : { image: image.base64 }),
    options: state.options };
  const own = state.on === null || state.on === model;
  const block = [...new Set([...(own ? state.block : []), ...hiddenTokens(base, state.hide)])];
  if (own && state.force.length) request.force = state.force;
  if (block.length) request.block = block.sort((one, two) => one - two);
  if (own && state.pull.length) request.pull = state.pull;
  if (state.lens === "step") request.detail = true;
  return request;
}

export class Answers {
  #slots = new Map();
  #cache = new Map();

  /** `show` is called when something has changed; `imageOf(model)` is its input image, or null if it reads text. */
  constructor(engine, imageOf, show) {
    this.engine = engine;
    this.imageOf = imageOf;
    this.show = show;
  }

  /** {trace, base, busy, slow, fault}: `trace` may be of an earlier request while busy or after a fault. */
  of(model) {
    return this.#slots.get(model) ?? { trace: null, base: null, busy: false, slow: false, fault: null };
  }

  /** Ask the models of this state, and forget the others. */
  refresh(state) {
    for (const model of state.models) this.#ask(model, state);
    for (const [model, slot] of this.#slots) {
      if (state.models.includes(model)) continue;
      slot.control?.abort();
      clearTimeout(slot.again);
      this.#slots.delete(model);
    }
  }

  /** Ask again for what failed. */
  retry(state) {
    for (const slot of this.#slots.values()) if (slot.fault) slot.key = null;
    this.refresh(state);
  }

  async #ask(model, state) {
    const image = this.imageOf(model);
    const slot = this.#slots.get(model) ?? { trace: null, base: null, busy: false, slow: false, fault: null };
    this.#slots.set(model, slot);
    const known = this.engine.models.find(({ name }) => name === model);
    const wanted = JSON.stringify([inputOf(state, known.input), image?.id, state.options, state.on, state.force, state.pull, state.block,
      state.hide, state.lens === "step"]);
    if (slot.key === wanted && !slot.fault) return;
    slot.control?.abort();
    clearTimeout(slot.again);
    const control = new AbortController();
    clearTimeout(slot.late);
    Object.assign(slot, { key: wanted, control, busy: true, slow: false });
    if (!(image === null ? filled(state, known.input) : image.base64)) {
      Object.assign(slot, { trace: null, base: null, fault: null, busy: false, slow: false });
      this.show();
      return;
    }
    slot.late = setTimeout(() => {
      if (slot.control !== control || !slot.busy) return;
      slot.slow = true;
      this.show();
    }, SLOW);
    try {
      const touched = !untouched(state) && (state.on === null || state.on === model || state.hide.length > 0);
      const plain = requestOf({ ...state, ...UNTOUCHED }, known, image, null);
      const base = await this.#trace(plain, image, control.signal);
      if (slot.control !== control) return;
      const trace = touched ? await this.#trace(requestOf(state, known, image, base), image, control.signal) : base;
      if (slot.control !== control) return; // a newer request has replaced this one
      Object.assign(slot, { trace, base: touched ? base : null, fault: null, busy: false, slow: false });
      this.show(model, trace);
    } catch (error) {
      if (slot.control !== control || error.name === "AbortError") return;
      const said = error instanceof Refusal || error instanceof Fault;
      const away = error instanceof Refusal && error.status === 0;
      Object.assign(slot, { busy: false, slow: false, fault: { away,
        sentence: said ? error.message : "The page could not show the answer." } });
      if (!said) console.error(String(error));
      if (away) slot.again = setTimeout(() => this.retry(state), RETRY);
      this.show();
    }
  }

  async #trace(request, image, signal) {
    const key = JSON.stringify(image ? { ...request, image: image.id } : request);
    const { detail, ...less } = request;
    const found = this.#cache.get(key)
      ?? (detail ? null : this.#cache.get(JSON.stringify({ ...(image ? { ...less, image: image.id } : less),
        detail: true })));
    if (found) return found;
    const trace = await openTrace(await this.engine.trace(request, signal), "The answer");
    this.#cache.set(key, trace);
    if (this.#cache.size > KEPT) this.#cache.delete(this.#cache.keys().next().value);
    return trace;
  }
}

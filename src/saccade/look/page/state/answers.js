// Answers of the models: requests with a cache, the untouched answer beside the changed one, and failures that erase
// nothing.
import { Refusal } from "saccade/engine/server";
import { FILES, filled, inputOf } from "saccade/state/input";
import { UNTOUCHED, untouched } from "saccade/state/link";
import { sharedChanges } from "saccade/state/shared";
import { entriesOf } from "saccade/trace/fold";
import { Fault, openTrace } from "saccade/trace/open";

const KEPT = 60;
/** Traces in the cache, so that undoing is instant. */
const RETRY = 2000;
/** Milliseconds between attempts while the server does not answer. */
const SLOW = 150;
/** Milliseconds after which the page shows that it waits. */
const EMPTY = { trace: null, base: null, asked: null, busy: false, slow: false, fault: null, why: null };

/** The tokens of hidden words in one model's source; words that this model splits differently are left out. */
export function hiddenTokens(trace, hide) {
  const source = trace?.sides.get("source");
  if (!source || !hide.length) return [];
  const entries = entriesOf(source, "words");
  return hide.flatMap((number) => entries[number]?.places ?? []);
}

/** True if interventions by token id are those of this model. */
const owns = (state, model) => state.on === null || state.on === model;
const numbered = (state) => state.force.length > 0 || state.pull.length > 0;

/** The body of a trace request; `own` are the interventions by token id, {force, pull, block}. */
export function requestOf(state, { name: model, input: kind }, image, base, { force = [], pull = [], block = [] } = {}) {
  /** @type {Record<string, any>} */
  const request = { model, ...(image === null ? { input: inputOf(state, kind) } : { [FILES[kind]]: image.base64 }),
    options: state.options };
  const blocked = [...new Set([...block, ...hiddenTokens(base, state.hide)])];
  if (force.length) request.force = force;
  if (blocked.length) request.block = blocked.sort((one, two) => one - two);
  if (pull.length) request.pull = pull;
  if (state.lens === "step") request.detail = true;
  return request;
}

export class Answers {
  #slots = new Map();
  #cache = new Map();
  #state = null;

  /** `show` is called when something has changed; `imageOf(model)` is its input file, or null if it reads text. */
  constructor(engine, imageOf, show) {
    this.engine = engine;
    this.imageOf = imageOf;
    this.show = show;
  }

  /**
   * {trace, base, asked, busy, slow, fault, why}: `trace` may be of an earlier request while busy or after a fault;
   * `asked` is the request that it answers.
   */
  of(model) {
    return this.#slots.get(model) ?? EMPTY;
  }

  /** Ask the models of this state, and forget the others. `follow`: a model that is still answering is asked then. */
  refresh(state, follow = false) {
    this.#state = state;
    const order = [...state.models].sort((one, two) => Number(two === state.on) - Number(one === state.on));
    for (const model of order) this.#ask(model, follow);
    for (const [model, slot] of this.#slots) {
      if (state.models.includes(model)) continue;
      slot.control?.abort();
      clearTimeout(slot.again);
      this.#slots.delete(model);
    }
  }

  /** Ask again for what failed. */
  retry() {
    for (const slot of this.#slots.values()) if (slot.fault) slot.key = null;
    this.refresh(this.#state);
  }

  #ask(model, follow) {
    const state = this.#state;
    const image = this.imageOf(model);
    const slot = this.#slots.get(model) ?? { ...EMPTY };
    this.#slots.set(model, slot);
    const known = this.engine.models.find(({ name }) => name === model);
    const wanted = JSON.stringify([inputOf(state, known.input), image?.id, state.options, state.on, state.force, state.pull, state.block,
      state.hide, state.lens === "step"]);
    if (slot.key === wanted) return; // answered, refused, or on its way
    if (follow && slot.busy) {
      slot.next = true;
      return;
    }
    slot.control?.abort();
    clearTimeout(slot.again);
    clearTimeout(slot.late);
    const control = new AbortController();
    Object.assign(slot, { key: wanted, control, busy: true, slow: false, next: false });
    if (!(image === null ? filled(state, known.input) : image.base64)) {
      Object.assign(slot, EMPTY);
      this.show();
      return;
    }
    slot.late = setTimeout(() => {
      if (slot.control !== control || !slot.busy) return;
      slot.slow = true;
      this.show();
    }, SLOW);
    slot.ready = this.#answer(known, state, image, slot, control);
  }

  async #answer(known, state, image, slot, control) {
    const model = known.name;
    try {
      const plain = requestOf({ ...state, ...UNTOUCHED }, known, image, null);
      const base = await this.#trace(plain, image, control.signal);
      const own = await this.#own(state, model, base);
      if (slot.control !== control) return; // a newer request has replaced this one
      const asked = requestOf({ ...state, hide: own.hide }, known, image, base, own);
      const touched = !untouched(state) && ["force", "block", "pull"].some((name) => name in asked);
      const trace = touched ? await this.#trace(asked, image, control.signal) : base;
      if (slot.control !== control) return;
      Object.assign(slot, { trace, base: touched ? base : null, asked: touched ? asked : plain, fault: null, busy: false,
        slow: false, why: own.why ?? null });
      this.show(model);
    } catch (error) {
      if (slot.control !== control || error.name === "AbortError") return;
      const said = error instanceof Refusal || error instanceof Fault;
      const away = error instanceof Refusal && error.passing;
      Object.assign(slot, { busy: false, slow: false, fault: { away,
        sentence: said ? error.message : "The page could not show the answer." } });
      if (!said) console.error(String(error));
      if (away) slot.again = setTimeout(() => this.retry(), RETRY);
      this.show();
    }
    if (slot.next) this.#ask(model, true);
  }

  /** The interventions on one model, whose untouched answer is `base`: {force, pull, block, hide, why}. */
  async #own(state, model, base) {
    let own = state;
    if (!owns(state, model)) {
      const owner = this.#slots.get(state.on);
      if (numbered(state)) await owner?.ready;
      own = { hide: state.hide, ...(numbered(state) ? sharedChanges(state, owner?.fault ? null : owner?.trace, base) : {}) };
    }
    const looks = base.sites.some((site) => site.columns === "source");
    if (looks || !(state.hide.length || state.pull.length) || state.models.length < 2) return own;
    return { force: own.force, hide: [], why: "it has no attention that could be changed" };
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

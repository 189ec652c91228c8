// The effect of hiding a source word on the words written so far: weights say where a word attends, and this says what
// depends on it. The engine is asked for a few words, one after the other, after a moment of rest.
import { Fault, openSteps } from "saccade/trace/open";
import { Refusal } from "saccade/engine/server";

const REST = 120;
/** Milliseconds before the first request, so that passing over words requests nothing. */
const KEPT = 200;
/** Effects kept for one answer. */

/**
 * The request: the answer's tokens up to the last one again, with `column` hidden from all words, or from `row` alone.
 * The last token is not forced, since that may be the end; its probability is among the step's candidates. A belief
 * after a glimpse is not forced either.
 */
export function effectRequest({ asked, trace }, column, row = null) {
  const { detail, pull = [], block = [], options: { beam, sample, ...options }, ...request } = asked;
  const places = new Set(column.places);
  const steps = new Set(row?.places);
  const others = pull.filter(([step, place]) => !places.has(place) || (row && !steps.has(step)));
  const tokens = trace.steps.map((step) => step.token);
  return { ...request, ...(trace.glimpses ? {} : { force: tokens.slice(0, -1) }),
    ...(row ? (block.length ? { block } : {}) : { block: [...new Set([...block, ...places])].sort((one, two) => one - two) }),
    ...(row ? { pull: [...others, ...[...steps].flatMap((step) => [...places].map((place) => [step, place, 0]))] }
      : others.length ? { pull: others } : {}),
    options: { ...options, beam: 1, min_length: 0, max_length: tokens.length } };
}

/** The probability of a word in other steps of the same tokens: {share, most}; `most`: it is no more than that. */
export function shareIn(steps, trace, word) {
  let [sum, most] = [0, false];
  for (const place of word.places) {
    const [then, now] = [trace.steps[place], steps[place]];
    if (!then || !now) return null;
    const listed = now.token === then.token ? now.log_probability
      : now.candidates.find(([token]) => token === then.token)?.[2];
    most ||= listed === undefined;
    sum += listed ?? Math.min(0, ...now.candidates.map(([, , logarithm]) => logarithm));
  }
  return { share: Math.exp(sum), most };
}

/** Requests effects and caches them. A new request ends the one before. */
export class Effects {
  #known = new WeakMap();
  #open = null;

  #of(trace) {
    if (!this.#known.has(trace)) this.#known.set(trace, new Map());
    return this.#known.get(trace);
  }

  /**
   * Call `show(number, steps)` for the number of each column: at once if its steps are known, else when they are answered;
   * null if the engine refuses. `row`: hide from this row only.
   */
  ask(engine, answer, columns, row, show) {
    const known = this.#of(answer.trace);
    const keys = columns.map((column) => `${column.places} ${row?.places ?? ""}`);
    const missing = [...keys.keys()].filter((number) => !known.has(keys[number]));
    keys.forEach((key, number) => { if (known.has(key)) show(number, known.get(key)); });
    const all = keys.join("\n");
    if (missing.length && this.#open?.all === all && this.#open.trace === answer.trace) {
      this.#open.show = show; // drawn anew while it is asked
      return;
    }
    this.stop();
    if (!missing.length) return;
    const control = new AbortController();
    const open = { all, trace: answer.trace, show, control, timer: setTimeout(async () => {
      for (const number of missing) {
        const steps = await stepsOf(engine, effectRequest(answer, columns[number], row), control.signal);
        if (control.signal.aborted) return;
        if (known.size >= KEPT) known.clear();
        known.set(keys[number], steps);
        open.show(number, steps);
      }
      if (this.#open === open) this.#open = null;
    }, REST) };
    this.#open = open;
  }

  /** End the open request, if there is one. */
  stop() {
    this.#open?.control.abort();
    clearTimeout(this.#open?.timer);
    this.#open = null;
  }
}

async function stepsOf(engine, request, signal) {
  try {
    return openSteps(await engine.trace(request, signal), "The answer");
  } catch (error) {
    if (error instanceof Refusal || error instanceof Fault || error.name === "AbortError") return null;
    throw error;
  }
}

// The state of the page as one object, and as the URL fragment, so that a link restores the same page.

import { START_WAY } from "saccade/state/input";

export const LENSES = ["words", "matrix", "heads", "search", "step"];
/** Views of earlier versions of the page, in links that were shared then. */
const OLD_VIEWS = { matrix: "matrix", reading: "words", arcs: "words", heads: "heads", beam: "search", step: "step" };
const UNITS = ["words", "pieces"];
const ENDS = ["shown", "apart", "hidden"];
const LONGEST = 20000;

export const OPTIONS = {
  beam: { label: "Beam width", kind: "whole", least: 1, most: 16 },
  length_penalty: { label: "Length penalty", kind: "number", least: 0, most: 10 },
  max_length: { label: "Maximum tokens", kind: "whole", least: 1, most: 4096 },
  min_length: { label: "Minimum tokens", kind: "whole", least: 0, most: 4096 },
  sample: { label: "Sample", kind: "flag" },
  temperature: { label: "Temperature", kind: "number", least: 0.01, most: 10 },
  top_k: { label: "Top k", kind: "whole", least: 1, most: 100000 },
  top_p: { label: "Top p", kind: "number", least: 0.01, most: 1 },
  seed: { label: "Seed", kind: "whole", least: 0, most: 2 ** 31 },
};

/**
 * `text` is what is read, or asked about the `passage`; `turns` are the turns of a dialogue. A model that draws reads the
 * other fields of the first line: `noise` is a seed, `label` a class, and the noise lies the share `share` of the way to that
 * of the seed `toward`.
 *
 * Interventions: `hide` are numbers of words that no model may attend to. `force` (tokens that the answer begins with),
 * `pull` ([step, token, weight]) and `block` (tokens, of old links) belong to the model `on`, as token ids differ
 * between models. `pick` is the selected word: {row, column, of}, each a number or null; `of` is the answer's place.
 */
export const START = {
  text: "", passage: "", turns: [], noise: 1, label: "", toward: START_WAY, share: 0, truncation: 1, models: [], traces: [], options: {}, on: null, force: [], pull: [], block: [], hide: [],
  lens: "words", site: null, head: null, unit: "words", sinks: "shown", step: 0, pick: null,
};

export const UNTOUCHED = { on: null, force: [], pull: [], block: [], hide: [] };
export const untouched = (state) =>
  ["force", "pull", "block", "hide"].every((name) => !state[name].length);

const pickText = ({ row, column, of }) => `${row ?? ""}.${column ?? ""}.${of}`;

/** Encode the state for the URL; default values are left out. */
export function encode(state) {
  const out = new URLSearchParams();
  for (const name of ["text", "passage"]) if (state[name]) out.set(name, state[name]);
  for (const turn of state.turns) out.append("turn", turn);
  for (const model of state.models) out.append("model", model);
  for (const trace of state.traces) out.append("trace", trace);
  for (const name of Object.keys(OPTIONS)) if (name in state.options) out.set(name, state.options[name]);
  if (!untouched(state)) {
    if (state.on !== null) out.set("on", state.on);
    for (const name of ["force", "block", "hide"]) for (const entry of state[name]) out.append(name, entry);
    for (const pulled of state.pull) out.append("pull", pulled.join(":"));
  }
  for (const name of ["noise", "label", "toward", "share", "truncation", "lens", "site", "head", "unit", "sinks", "step"]) {
    if (state[name] !== START[name]) out.set(name, state[name]);
  }
  if (state.pick) out.set("pick", pickText(state.pick));
  return out.toString();
}

function whole(text, name, least = 0, most = 2 ** 31) {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) throw new Error(`${name} cannot be “${text}”`);
  return number;
}

function fraction(text, name, least, most) {
  const number = Number(text);
  if (text.trim() === "" || !(number >= least && number <= most)) throw new Error(`${name} cannot be “${text}”`);
  return number;
}

/** Parse an option: its value, or null for an empty field. Throws an error whose message begins a sentence. */
export function readOption(name, text) {
  const option = OPTIONS[name];
  if (option.kind === "flag") {
    if (text !== "true" && text !== "false") throw new Error(`${option.label} cannot be “${text}”`);
    return text === "true" ? true : null;
  }
  if (text.trim() === "") return null;
  return (option.kind === "whole" ? whole : fraction)(text.trim(), option.label, option.least, option.most);
}

function pulled(text) {
  const parts = text.split(":");
  if (parts.length !== 3) throw new Error(`pull cannot be “${text}”`);
  return [whole(parts[0], "the step of a pull"), whole(parts[1], "the token of a pull"),
    fraction(parts[2], "the weight of a pull", 0, 1)];
}

function picked(text) {
  const parts = text.split(".");
  if (parts.length !== 3) throw new Error(`pick cannot be “${text}”`);
  const [row, column] = parts.map((part) => (part === "" ? null : whole(part, "pick")));
  return { row, column, of: whole(parts[2], "pick") };
}

function oneOf(text, allowed, name) {
  if (!allowed.includes(text)) throw new Error(`${name} cannot be “${text}”`);
  return text;
}

/** Parse the text that `encode` returns. Throws an error whose message begins a sentence. */
export function decode(hash) {
  const state = { ...START, options: {} };
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const long = (text) => text.slice(0, LONGEST);
  const many = { turn: (text) => state.turns.push(long(text)), model: (text) => state.models.push(text), trace: (text) => state.traces.push(whole(text, "trace")),
    force: (text) => state.force.push(whole(text, "force")), block: (text) => state.block.push(whole(text, "block")),
    hide: (text) => state.hide.push(whole(text, "hide")), pull: (text) => state.pull.push(pulled(text)) };
  const one = { text: long, passage: long, noise: (text) => whole(text, "noise"), label: long,
    toward: (text) => whole(text, "toward"), share: (text) => fraction(text, "share", 0, 1),
    truncation: (text) => fraction(text, "truncation", 0, 1), on: String, lens: (text) => oneOf(text, LENSES, "lens"),
    site: String, head: (text) => whole(text, "head"), unit: (text) => oneOf(text, UNITS, "unit"),
    sinks: (text) => oneOf(text, ENDS, "sinks"), step: (text) => whole(text, "step"), pick: picked };
  for (const list of ["turns", "models", "traces", "force", "block", "hide", "pull"]) state[list] = [];
  for (const [name, text] of found) {
    if (Object.hasOwn(many, name)) many[name](text);
    else if (Object.hasOwn(one, name)) state[name] = one[name](text);
    else if (name === "view") state.lens = OLD_VIEWS[oneOf(text, Object.keys(OLD_VIEWS), "view")];
    else if (Object.hasOwn(OPTIONS, name)) {
      const value = readOption(name, text);
      if (value !== null) state.options[name] = value;
    } else throw new Error(`“${name}” is unknown`);
  }
  return state;
}

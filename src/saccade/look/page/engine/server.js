// Requests to the server: models and traces. Every failure becomes a Refusal with a message to show.

/** A failed request: a message to show, and the HTTP status. */
export class Refusal extends Error {
  constructor(sentence, status = 0) {
    super(sentence);
    this.status = status;
  }

  /** True if asking again may help: the server did not answer, is busy, or starts. */
  get passing() {
    return PASSING.includes(this.status);
  }
}

const PASSING = [0, 429, 502, 503, 504];

const KEY = "saccade-token";
let token = null;
try {
  token = sessionStorage.getItem(KEY);
} catch { /* storage may be forbidden; then the page asks for the token again */ }

/** Remember the access token until the window is closed. */
export function setToken(text) {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch { /* as above */ }
}

async function sentenceOf(answer) {
  try {
    const { error } = await answer.json();
    if (typeof error?.message === "string" && error.message) return error.message;
  } catch { /* no JSON: a proxy may have answered */ }
  return `The server answered with ${answer.status} and no reason.`;
}

async function ask(address, init = {}) {
  const headers = { ...init.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(address, { ...init, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer. Is saccade serve still running?");
  }
  if (!answer.ok) throw new Refusal(await sentenceOf(answer), answer.status);
  return answer.text();
}

/** Fetch the models [{name, task, preset, parameters, attention}], the default first. */
export async function models() {
  const found = JSON.parse(await ask("v1/models"));
  if (!Array.isArray(found?.models)) throw new Refusal("The server's list of models cannot be read.");
  return found.models.filter((model) => typeof model?.name === "string");
}

/** Request a trace, as JSON text. */
export const trace = (request, signal) =>
  ask("v1/trace", { method: "POST", body: JSON.stringify(request), headers: { "Content-Type": "application/json" },
    signal });

/** Fetch the text of one of the page's own files. */
export const file = (address) => ask(address);

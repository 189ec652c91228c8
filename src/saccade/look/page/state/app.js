// The state of the page and what follows from it: a change updates the URL, sends requests and draws the page anew.
import { visible } from "saccade/base/format";
import { Answers } from "saccade/state/answers";
import { FILES, fieldsOf, filled } from "saccade/state/input";
import { decode, encode, START, UNTOUCHED, untouched } from "saccade/state/link";

const SHEET = 1100;
/** Widest window whose inspector is a sheet, as in the style sheet. */
const PATIENCE = 250;
/** Milliseconds of silence while typing before a request is sent. */

export class App {
  #answers;
  #soon = null;

  /** `traces` are {label, trace}: saved in this page, or opened in it. `draw` and `say` belong to the page. */
  constructor(engine, traces, { draw, say }) {
    this.engine = engine;
    this.traces = traces;
    this.say = say;
    this.draw = draw;
    /** The input image or sound {id, name, base64, kind}, or null; `kind` is what its models read. */
    this.image = null;
    /** Whether the text is being edited, and whether a letter of it was typed. */
    this.editing = false;
    this.typing = false;
    this.models = engine.models;
    /** The words that were selected last, {row, column}, each {place, of} or null. */
    this.recent = { row: null, column: null };
    /** Whether the answer to an intervention is awaited; then the selection stays with the followed word, or goes to what changed. */
    this.acted = false;
    /** Whether the lanes keep their height: while a slider moves, and after Start over until something else is done. */
    this.steady = false;
    /** Whether an input has come that no word was selected in yet. */
    this.fresh = true;
    /** From which words the inspector hides: "all", or the selected "one". */
    this.scope = "all";
    this.#answers = new Answers(engine, (model) => this.#fileOf(model), (model) => this.draw(model ?? null));
    this.state = this.#usual();
  }

  #usual() {
    const alike = new Set(this.traces.map(({ trace }) => trace.sides.get("source")?.text ?? trace.text)).size === 1;
    const many = alike && this.traces.length <= 3 ? this.traces.length : 1;
    return { ...START, models: this.models.slice(0, 1).map((model) => model.name),
      traces: this.models.length ? [] : [...Array(Math.min(many, this.traces.length)).keys()] };
  }

  /** The input file of a model, empty if there is none yet; null if it reads text. */
  #fileOf(name) {
    const { input } = this.models.find((model) => model.name === name);
    if (!FILES[input]) return null;
    return (this.image?.kind ?? "picture") === input && this.image ? this.image : { id: 0, base64: "" };
  }

  /** True if one of the named models reads images, or files of another kind. */
  readsFiles(kind = "picture", names = this.state.models) {
    return this.models.some((model) => model.input === kind && names.includes(model.name));
  }

  /** True if one of the named models reads text. */
  readsText(names = this.state.models) {
    return this.models.some((model) => !FILES[model.input] && model.input !== "seed" && names.includes(model.name));
  }

  /** The first selected model, or undefined. */
  get #first() {
    return this.models.find((model) => model.name === this.state.models[0]);
  }

  /** What the first selected model reads: "text", "picture", "sound", "question", "dialogue" or "seed". */
  get reads() {
    return this.#first?.input ?? "text";
  }

  /** The classes that the first selected model draws. */
  get classes() {
    return this.#first?.classes ?? [];
  }

  /** Examples of the first selected model, [{input} or {image, name}]. */
  get examples() {
    return this.#first?.examples ?? [];
  }

  /** Restore the state from the URL; ignore invalid parts and show a notice. */
  restore(hash) {
    let found = { ...START };
    try {
      found = decode(hash);
    } catch (error) {
      this.say(`The link could not be understood (${error.message}), so it is ignored.`);
    }
    const known = { models: found.models.filter((name) => this.models.some((model) => model.name === name)),
      traces: [...new Set(found.traces)].filter((place) => place < this.traces.length) };
    const lost = found.models.filter((name) => !known.models.includes(name));
    const names = lost.map((name) => `“${visible(name)}”`).join(", ");
    if (names) this.say(`The link asks for ${names}, which is not served here.`);
    if (!known.models.length && !known.traces.length) {
      Object.assign(known, { models: this.#usual().models, traces: this.#usual().traces });
    }
    this.state = { ...found, ...known };
    this.acted = false;
    this.steady = false;
    this.#changed();
  }

  /** Show the first example, unless the link or the user asked for something. Changes of a link can be undone. */
  begin() {
    if (this.engine.live && !untouched(this.state) && history.state === null) {
      history.replaceState({ depth: 0 }, "", `#${encode({ ...this.state, ...UNTOUCHED })}`);
      history.pushState({ depth: 1 }, "", `#${encode(this.state)}`);
      this.draw();
    }
    if (filled(this.state, this.reads) || this.image || !this.engine.live || this.state.traces.length) return;
    if (this.examples.length) this.showExample(this.examples[0], { push: false });
  }

  /** Select models; where the first reads another kind of input than before, and none is there, show its first example. */
  select(models) {
    const { input, examples } = this.models.find((model) => model.name === models[0]);
    const there = FILES[input] ? this.image?.kind === input : filled(this.state, input) && this.reads !== "question";
    if (input === this.reads || there || !examples?.length) this.update({ models, pick: null });
    else this.showExample(examples[0], { push: false, models });
  }

  /** Show an example; one with an image or a sound becomes the input file. */
  showExample(example, { push = true, models = this.state.models } = {}) {
    this.fresh = true;
    const content = example.image ?? example.sound;
    if (content) {
      const kind = example.image ? "picture" : "sound";
      this.image = { id: example.name, name: example.name, kind, example: true, base64: content.split(",").at(-1) };
      this.update({ ...UNTOUCHED, models, step: 0, pick: null }, { push });
    } else this.update({ ...UNTOUCHED, ...fieldsOf(example.input), models, step: 0, pick: null }, { push });
  }

  /**
   * Change the state. `push`: as a step that can be undone, with the browser's back button too. `soon`: milliseconds
   * to wait before the request, because more changes follow, as while typing. `follow`: as one of many changes while
   * a slider moves: requests go on at a steady pace, and the page is drawn when they are answered. `act`: an
   * intervention, after which the selection goes to what changed. `back`: what undoing this step does, in words.
   */
  update(changes, { push = false, soon = 0, follow = false, act = false, back = null } = {}) {
    this.state = { ...this.state, ...changes };
    this.steady = follow || back !== null;
    if ("text" in changes || "models" in changes) this.recent = { row: null, column: null };
    for (const part of ["row", "column"]) {
      const place = changes.pick?.[part] ?? null;
      if (place !== null) this.recent[part] = { place, of: changes.pick.of };
    }
    if (push) this.acted = act;
    if (!("text" in changes)) this.typing = false;
    if (push) history.pushState({ depth: this.depth + 1, back }, "", `#${encode(this.state)}`);
    else if (!follow) history.replaceState(history.state, "", `#${encode(this.state)}`); // browsers limit how often
    this.#changed(soon, follow);
  }

  /** The number of steps that can be undone. */
  get depth() {
    return history.state?.depth ?? 0;
  }

  undo() {
    if (this.depth > 0) history.back();
  }

  /** What undoing Start over does, in words; null after other steps. */
  get back() {
    return history.state?.back ?? null;
  }

  /** Take back all interventions; `back` says what undoing that does. */
  startOver(back) {
    this.update({ ...UNTOUCHED }, { push: true, back });
  }

  /** Whether the inspector, once a word is selected, is a sheet over the page. */
  get sheet() {
    return innerWidth <= SHEET;
  }

  #changed(soon = 0, follow = false) {
    if (follow && this.#soon !== null) return;
    clearTimeout(this.#soon);
    this.#soon = soon ? setTimeout(() => {
      this.#soon = null;
      this.#answers.refresh(this.state, follow);
    }, soon) : null;
    if (!soon) this.#answers.refresh(this.state);
    if (!follow) this.draw();
  }

  retry() {
    this.#answers.retry();
    this.draw();
  }

  /** Change fields while one types. Interventions belong to the old text, so they end, and this can be undone. */
  type(fields) {
    const touched = !untouched(this.state);
    if (touched) this.say("Your changes belonged to the text before, so they are gone. Undo brings them back.");
    const first = !this.typing;
    this.typing = true;
    this.update({ ...fields, ...UNTOUCHED, step: 0, pick: null }, { soon: PATIENCE, push: touched || first });
  }

  /** Keep the model's reply and go on with `text`; without one, the model speaks next again. Returns whether it can. */
  answer(text) {
    const [{ trace, busy, fault }] = this.shown();
    const begun = this.state.turns.length > 0;
    if (begun && (busy || fault || !trace)) {
      this.say("The reply is not there yet.");
      return false;
    }
    const turns = [...this.state.turns, begun ? trace.text : "", text].filter((turn) => turn.trim());
    this.update({ ...UNTOUCHED, turns, step: 0, pick: null }, { push: true });
    return true;
  }

  /** Set the input file {id, name, base64, kind}; select a model that reads it if none is selected. */
  setFile(file) {
    this.image = file;
    const first = this.models.find((model) => model.input === file.kind).name;
    this.update({ ...UNTOUCHED, step: 0, pick: null,
      models: this.readsFiles(file.kind) ? this.state.models : [...this.state.models, first] });
  }

  /** The answers on the page: those of models first, then traces. */
  shown() {
    const asked = this.state.models.map((name) => ({ model: name, label: name, ...this.#answers.of(name) }));
    const saved = this.state.traces.map((place) => ({ model: null, trace: this.traces[place].trace, base: null,
      asked: null, busy: false, fault: null, why: null, label: `${place + 1}. ${this.traces[place].trace.model.name}` }));
    return [...asked, ...saved];
  }

  /** Add a trace that the user opened, and show it. */
  add(entry) {
    this.traces.push(entry);
    const asked = filled(this.state, this.reads) || this.image;
    this.update({ traces: [...this.state.traces, this.traces.length - 1], models: asked ? this.state.models : [],
      pick: null });
  }
}

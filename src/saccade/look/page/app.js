// The state of the page and its outputs: a change updates the URL and the page, and sends requests where needed.
import { looksAtPictures, showChooser } from "saccade/chooser";
import { showOptions, showSources, showSwitches } from "saccade/controls";
import { byId, el, redraw } from "saccade/dom";
import { siteOf } from "saccade/fold";
import { closeMenu } from "saccade/menu";
import { panel } from "saccade/panel";
import { Refusal, trace as askTrace } from "saccade/server";
import { decode, encode, NO_INTERFERENCE, requestOf, START } from "saccade/state";
import { positions } from "saccade/step";
import { Fault, openTrace } from "saccade/trace";
import { visible } from "saccade/words";

const PATIENCE = 250;
const PACE = 1800;
/** Milliseconds: the delay before a request while typing, and the duration of a step while playing. */

export class App {
  #slots = new Map();
  #soon = null;
  #player = null;

  /** `models` as the server lists them; `traces` are {label, trace}, saved in this page or opened in it. */
  constructor(models, traces, say) {
    Object.assign(this, { models, traces, say, picture: null });
    this.state = this.#usual();
  }

  #usual() {
    const alike = new Set(this.traces.map(({ trace }) => trace.sides.get("source")?.text ?? trace.text)).size === 1;
    const many = alike && this.traces.length <= 3 ? this.traces.length : 1;
    return { ...START, models: this.models.slice(0, 1).map((model) => model.name),
      traces: this.models.length ? [] : [...Array(Math.min(many, this.traces.length)).keys()] };
  }

  /** Restore the state from the URL; ignore invalid parts and show a notice. */
  restore(hash) {
    let found = START;
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
    if (!known.models.length && !known.traces.length) Object.assign(known,
      { models: this.#usual().models, traces: this.#usual().traces });
    this.state = { ...found, ...known };
    this.#show();
    this.#refresh();
  }

  /** Change the state. `soon`: delay the request, because more changes follow, as while typing. */
  update(changes, { soon = false } = {}) {
    this.state = { ...this.state, ...changes };
    closeMenu();
    this.#write();
    if (!soon) this.#show();
    clearTimeout(this.#soon);
    if (soon) this.#soon = setTimeout(() => this.#refresh(), PATIENCE);
    else this.#refresh();
  }

  #write() {
    history.replaceState(null, "", `#${encode(this.state)}`);
  }

  /** Set the input image {id, name, base64}; select an image model if none is selected. */
  setPicture(picture) {
    this.picture = picture;
    const first = this.models.find((model) => model.input === "picture").name;
    this.update({ ...NO_INTERFERENCE, step: 0,
      models: looksAtPictures(this.models, this.state.models) ? this.state.models : [...this.state.models, first] });
  }

  #looks(model) {
    return looksAtPictures(this.models, [model]);
  }

  /** The outputs on the page: those of models first, then traces. */
  shown() {
    const asked = this.state.models.map((name) => ({ model: name, label: name, ...this.#slots.get(name) }));
    const saved = this.state.traces.map((place) =>
      ({ model: null, ...this.traces[place], label: `${place + 1}. ${this.traces[place].trace.model.name}` }));
    return [...asked, ...saved];
  }

  redraw() {
    this.#show();
  }

  #show() {
    const shown = this.shown();
    const first = shown.find((each) => each.trace)?.trace ?? null;
    const read = this.models.length ? this.state.text : first?.sides.get("source")?.text ?? first?.text ?? "";
    showOptions(this.state, read);
    showChooser(this);
    showSources(this.state, this.models, this.traces, first, (changes) => this.update(changes));
    showSwitches(this.state, first, looksAtPictures(this.models, this.state.models), (changes) => this.update(changes));
    byId("save").hidden = !first;
    const results = byId("results");
    results.classList.toggle("several", shown.length > 1);
    redraw(results, shown.length ? shown.map((each) => this.#panel(each))
      : el("p", { class: "quiet" }, "Choose a model."));
  }

  #panel(each) {
    if (each.fault) return el("article", { class: "panel" }, el("h3", {}, visible(each.label)),
      el("p", { class: "fault", role: "alert" }, visible(each.fault)));
    if (!each.trace) {
      const waiting = this.#looks(each.model) ? [each.busy, "The model is looking …",
        "Choose a picture above, drop one on the page, or paste it."]
        : [each.busy, "The model is reading …", "Write something above: the answer appears while you type."];
      return el("article", { class: "panel" }, el("h3", {}, visible(each.label)), el("p", { class: "quiet" },
        waiting[0] ? waiting[1] : waiting[2]));
    }
    return panel({ ...each, label: this.shown().length > 1 ? each.label : null, state: this.state,
      update: (changes) => this.update(changes),
      playing: this.#player !== null, play: () => this.#play(), link: () => `#${encode(this.state)}` });
  }

  #refresh() {
    for (const model of this.state.models) this.#ask(model);
    for (const [model, slot] of this.#slots) {
      if (this.state.models.includes(model)) continue;
      slot.control?.abort();
      this.#slots.delete(model);
    }
  }

  async #ask(model) {
    const picture = this.#looks(model) ? this.picture ?? { id: 0, base64: "" } : null;
    const { detail = false, ...request } = requestOf(this.state, model, picture);
    const slot = this.#slots.get(model) ?? {};
    this.#slots.set(model, slot);
    const key = JSON.stringify(picture ? { ...request, image: picture.id } : request);
    if (slot.key === key && (slot.detail || !detail)) return;
    slot.control?.abort();
    const control = new AbortController();
    Object.assign(slot, { key, detail, control, busy: true });
    if (!(picture ? picture.base64 : request.input.trim())) {
      Object.assign(slot, { trace: null, fault: null, busy: false });
      this.#show();
      return;
    }
    try {
      const trace = await openTrace(await askTrace(detail ? { ...request, detail } : request, control.signal),
        "The answer");
      if (slot.control !== control) return; // a newer request has replaced this one
      Object.assign(slot, { trace, fault: null, busy: false });
      byId("status").textContent = `${visible(model)}: ${visible(trace.text)}`;
    } catch (error) {
      if (slot.control !== control || error.name === "AbortError") return;
      const told = error instanceof Refusal || error instanceof Fault;
      Object.assign(slot, { trace: null, fault: told ? error.message : "The page could not show the answer.",
        busy: false, key: null }); // so that the same request can be sent again
    }
    this.#show();
  }

  #last() {
    const first = this.shown().find((each) => each.trace)?.trace;
    return first ? positions(first, siteOf(first, this.state.site)) - 1 : 0;
  }

  /** Move forward or back by a number of steps; the arrow keys do it too. */
  move(by) {
    const step = Math.max(0, Math.min(this.#last(), Math.min(this.state.step, this.#last()) + by));
    if (step !== this.state.step) this.update({ step });
  }

  #play() {
    if (this.#player !== null) {
      clearInterval(this.#player);
      this.#player = null;
    } else {
      if (this.state.step >= this.#last()) this.update({ step: 0 });
      this.#player = setInterval(() => {
        if (this.state.view === "step" && this.state.step < this.#last()) this.move(1);
        else this.#play();
      }, PACE);
    }
    this.#show();
  }

  /** Add a trace that the user opened, and show it. */
  add(entry) {
    this.traces.push(entry);
    const asked = this.state.text || this.picture;
    this.update({ traces: [...this.state.traces, this.traces.length - 1], models: asked ? this.state.models : [] });
  }
}

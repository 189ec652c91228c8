// The controls: models, search options and views. They stay on the page while outputs change.
import { button, byId, el, redraw } from "saccade/dom";
import { groupsOf, isPicture, siteOf } from "saccade/fold";
import { reasonAgainst } from "saccade/panel";
import { OPTIONS, readOption, VIEWS } from "saccade/state";
import { visible } from "saccade/words";

const VIEW_NAMES = { matrix: "Matrix", reading: "Reading", arcs: "Arcs", heads: "Heads", beam: "Beam",
  step: "Step by step" };
/** The label of the matrix view if the words attend to an image. */
const OVERLAY = "Overlay";
const GROUPS = { "target → source": "writing looks at what was read", "source → source": "reading looks at itself",
  "target → written": "writing looks at what was written" };
const LABELS = { translation: "Sentence to translate", language: "Text to go on from",
  classification: "Text to judge" };

function choice(label, name, options, value, change, why = null) {
  const select = el("select", { "data-key": `select-${name}`, disabled: options.length < 2, title: options.length < 2
    ? why : null, on: { change: (event) => change(event.target.value) } },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** Show the controls of view, site, layer, head, unit and marks for the first output; `pictures`: an image is expected. */
export function showSwitches(state, trace, pictures, update) {
  const views = byId("views");
  const site = trace && siteOf(trace, state.site);
  redraw(views, VIEWS.map((view) => {
    const against = trace ? reasonAgainst(view, trace, site) : null;
    const seen = site ? isPicture(trace.sides.get(site.columns)) : !trace && pictures;
    const name = view === "matrix" && seen ? OVERLAY : VIEW_NAMES[view];
    return button(name, () => update({ view }),
      { "aria-pressed": String(state.view === view), "data-key": `view-${view}`,
      class: against ? "cannot" : null, "aria-description": against, title: against });
  }));
  const switches = byId("switches");
  if (!site) {
    redraw(switches);
    return;
  }
  const groups = groupsOf(trace);
  const group = `${site.rows} → ${site.columns}`;
  const layers = groups.get(group).map((each) =>
    [each.name, each.layer === null ? visible(each.name) : `${each.layer} (${visible(each.name)})`]);
  const heads = [["mean", site.heads > 1 ? `mean of ${site.heads}` : "the only one"],
    ...(site.heads > 1 ? [...Array(site.heads).keys()].map((head) => [String(head), String(head)]) : [])];
  redraw(switches,
    choice("Site", "site", [...groups.keys()].map((key) => [key, GROUPS[key] ?? key]), group,
      (key) => update({ site: groups.get(key)[0].name, head: null }), "This model looks in one way only."),
    choice("Layer", "layer", layers, site.name, (name) => update({ site: name }), "There is one layer."),
    choice("Head", "head", heads, state.head !== null && state.head < site.heads && site.heads > 1 ? String(state.head)
      : "mean", (head) => update({ head: head === "mean" ? null : Number(head) }), "There is one head."),
    choice("Unit", "unit", [["words", "words"], ["pieces", "pieces"]], state.unit, (unit) => update({ unit })),
    choice("Marks and punctuation", "sinks", [["shown", "in place"], ["apart", "apart"], ["hidden", "hidden"]],
      state.sinks, (sinks) => update({ sinks })));
}

/** Build the search options; an invalid value is marked and not sent. */
export function buildOptions(state, update, say) {
  const fields = Object.entries(OPTIONS).map(([name, option]) => {
    const flag = option.kind === "flag";
    const input = el("input", { type: flag ? "checkbox" : "number", name, min: option.least, max: option.most,
      placeholder: flag ? null : "as usual",
      step: option.kind === "number" ? "any" : 1, "data-option": name });
    input.addEventListener(flag ? "change" : "input", () => {
      try {
        const value = readOption(name, flag ? String(input.checked) : input.value);
        const { [name]: _, ...others } = state().options;
        input.removeAttribute("aria-invalid");
        update({ options: value === null ? others : { ...others, [name]: value } }, { soon: true });
      } catch (error) {
        input.setAttribute("aria-invalid", "true");
        say(`${error.message}: it must be from ${option.least} to ${option.most}.`);
      }
    });
    return el("label", { class: flag ? "choice flag" : "choice" }, el("span", {}, option.label), input);
  });
  byId("options").replaceChildren(...fields);
}

/** Set the fields from the state, except the one with the focus. */
export function showOptions(state, text) {
  for (const input of document.querySelectorAll("[data-option]")) {
    if (input === document.activeElement) continue;
    const value = state.options[input.dataset.option];
    if (input.type === "checkbox") input.checked = value === true;
    else input.value = value ?? "";
  }
  if (byId("text").value !== text) byId("text").value = text;
}

/** Show the models and traces to choose from, one or several side by side. */
export function showSources(state, models, traces, first, update) {
  const toggle = (list, item) => (list.includes(item) ? list.filter((other) => other !== item) : [...list, item]);
  const box = (text, checked, change, key) => el("label", { class: "source" },
    el("input", { type: "checkbox", checked, "data-key": key, on: { change } }), el("span", { dir: "auto" }, text));
  const boxes = [
    ...models.map((model) => box(visible(model.name) + (model.attention === false ? " (no attention)" : ""),
      state.models.includes(model.name),
      () => update({ models: toggle(state.models, model.name) }), `model-${model.name}`)),
    ...traces.map((trace, place) => box(`${place + 1}. ${trace.label ?? ""}`, state.traces.includes(place),
      () => update({ traces: toggle(state.traces, place) }), `trace-${place}`)),
  ];
  const field = byId("sources");
  field.hidden = boxes.length < 2;
  redraw(field, el("legend", { class: "hidden" }, "Side by side"),
    el("span", { class: "quiet", "aria-hidden": "true" }, "Side by side"), boxes);
  const task = models.find((model) => model.name === state.models[0])?.task;
  const source = models.length ? null : first?.sides.get("source");
  byId("text-label").textContent = source && isPicture(source) ? "Picture" : LABELS[task] ?? "Text";
}

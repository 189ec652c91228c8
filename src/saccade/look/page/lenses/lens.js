// The lens below the stage: words, matrix, heads, search or one step, and the switches that belong to attention sites.
import { button, byId, el, find, redraw } from "saccade/base/dom";
import { decimal, percent, visible } from "saccade/base/format";
import { closing } from "saccade/base/popup";
import { viewOf } from "saccade/lanes/table";
import { headGrid, wayOf } from "saccade/lenses/heads";
import { matrix } from "saccade/lenses/matrix";
import { searchLens } from "saccade/lenses/search";
import { stepLens } from "saccade/lenses/step";
import { wordsLens } from "saccade/lenses/words";
import { optionFields } from "saccade/lenses/options";
import { LENSES } from "saccade/state/link";
import { draws, groupsOf, logProbability, strongest } from "saccade/trace/fold";

const NAMES = { words: "Words", matrix: "Matrix", heads: "Heads", search: "Search", step: "Step" };
/** The part of a model that draws, which a site belongs to. */
const playerOf = (site) => /^(generator|discriminator)\b/.exec(site.name)?.[1];
const NO_ATTENTION = "This model has no attention: it reads everything into one vector. Search and Step show how it writes.";

function select(label, key, options, value, change) {
  return el("label", { class: "choice" }, el("span", {}, label), el("select", { "data-key": `select-${key}`, "aria-label": label,
    on: { change: (event) => change(event.target.value) } },
  options.map(([name, text]) => el("option", { value: name, selected: name === value }, text))));
}

/** Choice of the layer and the head, where there are several; ⋯ opens the rarely used settings. */
function switches(scene, app) {
  const { first, state } = scene;
  const site = first?.site;
  const parts = [];
  if (site) {
    const groups = groupsOf(first.trace);
    const group = `${site.rows} → ${site.columns}`;
    const layers = groups.get(group);
    if (groups.size > 1) parts.push(select("Attention", "site", [...groups].map(([key, sites]) => [key, wayOf(sites[0])]),
      group, (key) => app.update({ site: groups.get(key)[0].name, head: null, pick: null })));
    if (layers.length > 1) parts.push(select("Layer", "layer", layers.map((each, place) =>
      [each.name, playerOf(each) ?? `${place + 1} of ${layers.length}`]), site.name, (name) => app.update({ site: name })));
    if (site.heads > 1) parts.push(select("Head", "head", [["mean", `mean of ${site.heads}`],
      ...[...Array(site.heads).keys()].map((head) => [String(head), `${head + 1} of ${site.heads}`])],
    first.head === null ? "mean" : String(first.head),
    (head) => app.update({ head: head === "mean" ? null : Number(head) })));
  }
  const seldom = [
    select("Unit", "unit", [["words", "words"], ["pieces", "subwords"]], state.unit,
      (unit) => app.update({ unit, pick: null })),
    select("Ends and punctuation", "sinks", [["shown", "in place"], ["apart", "apart"], ["hidden", "left out"]],
      state.sinks, (sinks) => app.update({ sinks, pick: null })),
    app.engine.live && app.reads !== "seed" && optionFields(app),
    sources(app),
  ];
  return [parts.length > 0 && el("div", { class: "switches", role: "group", "aria-label": "What is shown" }, parts),
    closing(el("details", { class: "more" }, el("summary", { "data-key": "more", "aria-label": "More settings" }, "⋯"),
      el("div", { class: "more-box" }, seldom)))];
}

/** Traces beside the models, to be shown or not. */
function sources(app) {
  if (!app.traces.length) return null;
  const toggle = (place) => (app.state.traces.includes(place) ? app.state.traces.filter((other) => other !== place)
    : [...app.state.traces, place]);
  return el("fieldset", { class: "traces" }, el("legend", {}, "Traces"), app.traces.map(({ label }, place) =>
    el("label", { class: "source" }, el("input", { type: "checkbox", checked: app.state.traces.includes(place),
      "data-key": `trace-${place}`, on: { change: () => app.update({ traces: toggle(place), pick: null }) } }),
    el("span", { dir: "auto" }, `${place + 1}. ${label}`))));
}

/** Reasons why a lens has nothing to show for an answer, or null. */
function reasonAgainst(lens, answer) {
  if (!answer.site && draws(answer.trace)) return "This model has no attention.";
  if (!answer.site && ["matrix", "heads"].includes(lens)) return NO_ATTENTION;
  return null;
}

function view(answer, context) {
  const { app, scene, light } = context;
  const { state } = scene;
  const against = reasonAgainst(state.lens, answer);
  if (against) return el("p", { class: "quiet reason" }, against);
  const choose = (place) => app.update({ pick: place });
  if (state.lens === "step") return stepLens(answer, { state, act: context.act });
  if (state.lens === "search") return searchLens(answer, { app });
  if (state.lens === "heads") return headGrid(answer, { state, light,
    choose: (site, head) => app.update({ site, head, lens: "matrix", pick: null }) });
  if (state.lens === "matrix") return matrix(answer.figure, { light, of: answer.of, room: context.room, hand: answer.hand,
    pick: scene.pick?.of === answer.of && scene.pick.row !== null && scene.pick.column !== null ? scene.pick : null,
    open: (row, column) => choose({ row, column, of: answer.of }) });
  return wordsLens(answer, { light, select: choose, several: scene.answers.length > 1 });
}

function asText({ figure, site, of }) {
  if (!site) return null;
  const lines = figure.rows.map((row, r) => {
    const parts = strongest(figure, r, 3, viewOf(figure.side).least).map((c) =>
      `${visible(figure.columns[c].name)} ${percent(figure.at(r, c))}`);
    return `${visible(row.name)} ← ${parts.join(", ") || "nothing in particular"}`;
  });
  return el("details", { class: "as-text" }, el("summary", { "data-key": `as-text-${of}` }, "As text"),
    el("pre", { tabindex: 0 }, lines.join("\n")));
}

function section(answer, context) {
  const several = context.scene.answers.length > 1;
  const { lens } = context.scene.state;
  return el("article", { class: answer.slow || answer.fault ? "view busy" : "view",
    "aria-label": `${NAMES[lens]}: ${visible(answer.trace.model.name)}` },
  several && el("h2", {}, visible(answer.label), el("span", { class: "quiet" }, ` log-probability ${decimal(logProbability(answer.trace))}`)),
  view(answer, context), lens === "matrix" && asText(answer),
  answer.trace.leftOut.length > 0 && el("ul", { class: "left-out quiet", "aria-label": "Left out" },
    answer.trace.leftOut.map((sentence) => el("li", {}, visible(sentence)))));
}

/** Draw the lens; `act` moves through the steps. */
export function drawLens(scene, app, light, act) {
  const box = byId("lens");
  const inside = box.contains(document.activeElement);
  const shown = scene.answers.filter((answer) => answer.trace);
  const room = box.clientWidth / Math.min(2, Math.max(1, shown.length)) - 8;
  const tabs = el("div", { class: "tabs", role: "group", "aria-label": "Lenses" }, LENSES.map((lens, place) =>
    button(NAMES[lens], () => app.update({ lens }), { "aria-pressed": String(scene.state.lens === lens),
      "data-key": `lens-${lens}`, title: String(place + 1) })));
  redraw(box, el("h2", { class: "hidden" }, NAMES[scene.state.lens]), el("div", { class: "lens-bar" }, tabs, switches(scene, app)),
    el("div", { class: shown.length > 1 ? "views several" : "views" },
      shown.map((answer) => section(answer, { scene, app, light, act, room }))));
  if (inside && !box.contains(document.activeElement)) { // what had the focus is gone
    (find('.node[tabindex="0"]', box) ?? find('.tabs [aria-pressed="true"]', box)).focus({ preventScroll: true });
  }
}

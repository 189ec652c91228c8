// The panel of one output: its model, its text, its words, and the chosen view.
import { arcs } from "saccade/arcs";
import { beamTree, pathTo } from "saccade/beam";
import { wordLines } from "saccade/chips";
import { button, el } from "saccade/dom";
import { isPicture, looksBack, pictureOf, siteOf, strongest } from "saccade/fold";
import { headGrid } from "saccade/heads";
import { image } from "saccade/image";
import { alternatives, Hand, NEEDS_MODEL, pullMenu, regionMenu, sourceMenu, tags } from "saccade/interference";
import { Light } from "saccade/light";
import { matrix } from "saccade/matrix";
import { openMenu } from "saccade/menu";
import { overlay } from "saccade/overlay";
import { reading } from "saccade/reading";
import { positions, stepView } from "saccade/step";
import { counted, decimal, percent, visible } from "saccade/words";

const LONG = 240;

/** The reason why a view cannot be shown, or null. */
export function reasonAgainst(view, trace, site) {
  if (view === "step") return positions(trace, site) > 0 ? null : "Nothing was written step by step.";
  if (view === "beam") return trace.beams ? null : "No beam searched for this answer. Choose a beam width above 1.";
  if (!site) return "This model has no attention: it reads everything into one vector, so there is nowhere to look.";
  const regions = isPicture(trace.sides.get(site.columns));
  if (view === "reading") return looksBack(site) && !regions ? null
    : "Reading is for attention that looks back at its own side. Choose such a site, or another view.";
  if (view === "arcs" && regions) {
    return "Arcs join words, but this attention looks at regions of a picture. Choose another view.";
  }
  return null;
}

/** The chosen head, or null if this site does not have it. */
const headOf = (site, state) => {
  const there = site && site.heads > 1 && state.head !== null && state.head < site.heads;
  return there ? state.head : null;
};

function asText(picture) {
  const lines = picture.rows.map((row, r) => {
    const parts = strongest(picture, r, 3, picture.side ? 0 : undefined).map((c) =>
      `${visible(picture.columns[c].name)} ${percent(picture.at(r, c))}`);
    return `${visible(row.name)} ← ${parts.join(", ") || "nothing much"}`;
  });
  return el("details", { class: "as-text" }, el("summary", { "data-key": "as-text" }, "As text"),
    el("pre", { tabindex: 0 }, lines.join("\n")));
}

function openFrom(beams, hand) {
  return (anchor, step, slot) => {
    const tokens = pathTo(beams, step, slot);
    const name = visible(beams.steps[step].texts[slot]);
    openMenu(anchor, `Step ${step + 1}: ${name}`,
      el("p", { class: "quiet" }, `log-probability so far ${decimal(beams.steps[step].scores[slot])}`),
      el("div", { class: "choices" }, button("Go on from here", () => hand.forceAll(tokens),
        { disabled: !hand.possible || !tokens })),
      !hand.possible && el("p", { class: "quiet" }, NEEDS_MODEL));
  };
}

/** The actions of the step view: navigation, and interventions if they apply to the site. */
function stepActs(context, site, hand) {
  const { trace, state, update } = context;
  const choose = (token) => hand.force(Math.min(state.step, trace.steps.length - 1), token);
  choose.possible = hand.possible;
  choose.reason = NEEDS_MODEL;
  const looking = site && site.rows === "target" && site.columns === "source";
  const pull = looking && ((anchor, place) => {
    const row = Math.min(state.step, trace.steps.length - 1);
    const [, rows, columns] = site.weights.shape;
    const weights = [...Array(site.heads).keys()].map((head) =>
      site.weights.values[(head * rows + row) * columns + place] || 0);
    const weight = weights.reduce((sum, each) => sum + each, 0) / site.heads;
    pullMenu(anchor, hand, { name: trace.steps[row].text, places: [row] },
      { name: trace.sides.get("source").tokens[place], places: [place] }, weight);
  });
  return { choose, pull, go: (step) => update({ step }), playing: context.playing, play: context.play,
    link: context.link };
}

function viewOf(context, site, picture, light, hand) {
  const { trace, update } = context;
  const state = { ...context.state, head: headOf(site, context.state) };
  if (state.view === "step") return stepView(trace, site, state, stepActs(context, site, hand));
  if (state.view === "beam") return beamTree(trace.beams, openFrom(trace.beams, hand));
  if (state.view === "heads") return headGrid(trace, site, state, light,
    (name, head) => update({ site: name, head, view: "matrix" }));
  if (state.view === "reading") return reading(picture, site, light);
  if (state.view === "arcs") return arcs(trace, site, state, picture, light);
  if (picture.side) return overlay(picture.side, picture, light,
    (anchor, row) => alternatives(anchor, hand, picture.rows[row]));
  return matrix(picture, light, (anchor, row, column) => {
    if (picture.looking) pullMenu(anchor, hand, picture.rows[row], picture.columns[column], picture.at(row, column));
  });
}

function head(trace, label) {
  const { name, preset, parameters } = trace.model;
  return el("header", { class: "panel-head" }, el("h3", {}, visible(label ?? name)),
    el("p", { class: "quiet" },
      `${visible(preset)}, ${counted(parameters)} parameters, score ${decimal(trace.score)}`));
}

/** The blocked source positions: the user's, or those recorded in the trace. */
function blockedOf(hand) {
  const block = hand.possible ? hand.state.block : hand.trace.options.block;
  return Array.isArray(block) ? block : [];
}

/** The interactive input image; its regions can be blocked like source words. */
function imageOf(site, picture, light, hand) {
  const reached = site.columns === "source";
  return image(picture.side, picture, light, {
    blocked: (region) => reached && blockedOf(hand).includes(region),
    toggle: (region) => {
      if (!reached || !hand.possible) return;
      if (hand.state.block.includes(region)) hand.free([region]);
      else hand.block([region]);
    },
    open: (anchor, region) => { if (reached) regionMenu(anchor, hand, picture, region); },
  });
}

function wordsOf(trace, site, picture, light, hand) {
  const openRow = (anchor, place) => {
    if (site.rows === "target") alternatives(anchor, hand, picture.rows[place]);
    else if (site.rows === "source") sourceMenu(anchor, hand, picture.rows[place]);
  };
  const openColumn = (anchor, place) => {
    if (site.columns === "source") sourceMenu(anchor, hand, picture.columns[place]);
  };
  const blocked = (entry) => site.columns === "source" && entry.places.some((place) => blockedOf(hand).includes(place));
  return wordLines(picture, site, light, { openRow, openColumn, blocked });
}

/** Draw the panel; `context` has trace, label, model (null in a saved page), state, update, playing, play and link. */
export function panel(context) {
  const { trace, model, state, update } = context;
  const site = siteOf(trace, state.site);
  const light = new Light();
  const hand = new Hand(trace, model, state, update);
  const picture = site && pictureOf(trace, site, { head: headOf(site, state), unit: state.unit, sinks: state.sinks });
  const against = reasonAgainst(state.view, trace, site);
  const source = trace.sides.get("source");
  const told = state.view === "step" && picture ? state.step : -1;
  const row = picture ? picture.rows.findIndex((entry) => entry.places.includes(told)) : -1;
  const view = el("div", { class: "view" }, against ? el("p", { class: "quiet reason" }, against)
    : viewOf(context, site, picture, light, hand));
  const beside = picture?.side && ["matrix", "heads"].includes(state.view); // these views are narrow enough to fit beside the image
  const shown = el("article", { class: `panel${context.busy ? " busy" : ""}`,
    "aria-label": `Answer of ${visible(trace.model.name)}` },
    head(trace, context.label),
    el("p", { class: `answer${trace.text.length > LONG ? " long" : ""}`, dir: "auto" },
      visible(trace.text) || "(nothing)"),
    tags(trace, state, model, update),
    picture?.side ? el("div", { class: "beside" }, imageOf(site, picture, light, hand),
      el("div", {}, wordsOf(trace, site, picture, light, hand), beside && view))
      : [source && isPicture(source) && el("img", { class: "read", src: source.image, alt: "The picture that was read" }),
        site && wordsOf(trace, site, picture, light, hand)],
    !beside && view,
    picture && !against && ["matrix", "arcs"].includes(state.view) && !(picture.side && picture.own) && asText(picture),
    trace.leftOut.length > 0 && el("ul", { class: "left-out quiet", "aria-label": "Left out" },
      trace.leftOut.map((sentence) => el("li", {}, visible(sentence)))));
  light.home = row < 0 ? null : row;
  light.clear();
  return shown;
}

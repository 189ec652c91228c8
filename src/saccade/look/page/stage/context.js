// Inputs beside the attention that is shown: the image, the question, the passage.
import { el } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { chipOf, listen, shade } from "saccade/lanes/running";
import { laneOf } from "saccade/lanes/table";
import { entriesOf, figureOf, isImage, looksBack } from "saccade/trace/fold";

const OPTIONS = { head: null, unit: "words", sinks: "shown" };

/** The attention between two sides, as {site, of(place)}: the weights of `to` for a word of `from`; or null. */
function bridge(trace, from, to) {
  const between = trace.sites.filter((site) => !looksBack(site));
  const straight = between.find((site) => site.rows === from && site.columns === to);
  const site = straight ?? between.find((each) => each.rows === to && each.columns === from);
  if (!site) return null;
  const figure = figureOf(trace, site, OPTIONS);
  return { site, straight: site === straight, of: (place) => (straight ? figure.columns.map((_, column) => figure.at(place, column))
    : figure.rows.map((_, row) => figure.at(row, place))) };
}

/** The weight of each question word in the summary of the question, if the model has one. */
function importance(trace) {
  const site = trace.sites.find(({ rows, columns }) => rows === "summary" && columns === "question");
  const figure = site && figureOf(trace, site, OPTIONS);
  return figure ? figure.columns.map((_, column) => figure.at(0, column)) : null;
}

/** The question above its passage: shaded by the weight of each word; pointing at one highlights what it attends to. */
function questionLane(answer, passage, app, light) {
  const { trace, of } = answer;
  const words = entriesOf(trace.sides.get("question"), "words");
  const [link, weights] = [bridge(trace, "question", "source"), importance(trace)];
  const chips = words.map((word, place) => (link ? chipOf(word, place, { key: "question", picked: null,
    look: () => ({ classes: [], told: [] }) }) : el("span", { class: "word", dir: "auto" }, visible(word.name))));
  const group = el("div", { class: "words", role: "group", "aria-label": "Question" }, chips);
  const shown = (weights) => { if (passage?.chips?.length === weights.length) passage.light(weights, null); };
  if (link) listen(group, { point: (place) => shown(link.of(place)), leave: () => light.tell(),
    pick: (place) => app.update({ site: link.site.name, head: null,
      pick: { row: link.straight ? place : null, column: link.straight ? null : place, of } }) });
  shade(chips, weights, null);
  return el("div", { class: "lane context", "data-lane": "question" }, el("span", { class: "lane-name" }, "Question"), group);
}

/** Elements of the inputs that the shown attention leaves out; `made` is the lane of what it attends to. */
export function contextOf(answer, made, scene, app, light) {
  const { trace, site, figure } = answer;
  const shown = [site?.rows, site?.columns ?? "source"];
  const source = trace.sides.get("source");
  const found = [];
  if (!figure.side && source && isImage(source)) {
    found.push(el("img", { class: "read-image", src: source.image, alt: "The image that was read" }));
  }
  if (!trace.sides.has("question")) return found;
  if (!shown.includes("question")) found.push(questionLane(answer, made, app, light));
  if (!shown.includes("source")) {
    const words = entriesOf(source, scene.state.unit);
    found.push(laneOf({ key: "context", label: "Passage", name: "source", words, rows: false, unit: scene.state.unit,
      picked: null, look: null, pick: () => {}, answer, light }).element);
  }
  return found;
}

// The search as a tree: kept hypotheses, dropped ones, and the path of the answer.
import { button, el, svg } from "saccade/base/dom";
import { breadth, clip, decimal, visible } from "saccade/base/format";
import { shownToken } from "saccade/trace/fold";

const ROW = 52;
const LETTERS = 14;
const END = "<eos>";

/** The last step to draw: that of the answer's end, even if the search went on with other hypotheses. */
const lastOf = (beams) => Math.min(beams.steps.length, beams.best.length) - 1;

/** For each step, the set of slots that lead to the last step. */
function survivors(beams) {
  const alive = beams.steps.map(() => new Set());
  for (let step = lastOf(beams); step >= 0; step -= 1) {
    beams.steps[step].tokens.forEach((token, slot) => {
      if (token < 0) return;
      if (step === lastOf(beams) || alive[step].has(slot)) {
        alive[step].add(slot);
        if (step > 0) alive[step - 1].add(beams.steps[step].parents[slot]);
      }
    });
  }
  return alive;
}

/** The tokens from the first step to a slot, or null if one is missing. */
export function pathTo(beams, step, slot) {
  const tokens = [];
  for (let at = step, place = slot; at >= 0; at -= 1) {
    tokens.unshift(beams.steps[at].tokens[place]);
    place = beams.steps[at].parents[place];
  }
  return tokens.includes(-1) ? null : tokens;
}

function columnsOf(beams) {
  let x = 12;
  return beams.steps.map((step) => {
    const width = 20 + 9.2 * Math.max(2, ...step.texts.map((text) => breadth(clip(visible(shownToken(text)), LETTERS))));
    const start = x;
    x += width + 34;
    return { start, width, end: start + width };
  });
}

function node(beams, columns, step, slot, kind, choose) {
  const { texts, scores } = beams.steps[step];
  const { start, width } = columns[step];
  const y = ROW * slot + 8;
  const name = visible(shownToken(texts[slot]));
  const told = { best: "part of the answer", alive: "kept to the end", dead: "dropped" }[kind];
  const act = (anchor) => choose(anchor, step, slot);
  return svg("g", { class: `node ${kind}`, transform: `translate(${start} ${y})`, tabindex: -1, role: "button",
    "data-key": `beam-${step}-${slot}`,
    "aria-label": `Step ${step + 1}: ${name}, log-probability so far ${decimal(scores[slot])}, ${told}`,
    on: { click: (event) => act(event.currentTarget), keydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        act(event.currentTarget);
      }
    } } },
  svg("rect", { width, height: 36, rx: 8 }),
  svg("text", { x: width / 2, y: 14, "text-anchor": "middle", "dominant-baseline": "central" }, clip(name, LETTERS)),
  svg("text", { class: "score", x: width / 2, y: 28, "text-anchor": "middle", "dominant-baseline": "central" },
    decimal(scores[slot], 1)));
}

/** One tab stop: left and right move through the steps, up and down through the slots of a step, Home and End to the ends.
 * `box` is no SVG element, since those with listeners for the focus are tab stops themselves. */
function steer(box, nodes) {
  const at = (step, slot) => nodes.get(`${step} ${slot}`);
  nodes.values().next().value?.setAttribute("tabindex", "0");
  box.addEventListener("focusin", (event) => {
    for (const each of nodes.values()) each.setAttribute("tabindex", each === event.target ? "0" : "-1");
  });
  box.addEventListener("keydown", (event) => {
    const end = { Home: [...nodes.values()][0], End: [...nodes.values()].at(-1) }[event.key];
    if (end) {
      event.preventDefault();
      end.focus();
    }
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    const key = [...nodes].find(([, each]) => each === event.target)?.[0];
    if (!by || !key) return;
    event.preventDefault();
    const [step, slot] = key.split(" ").map(Number);
    (at(step + by[0], slot + by[1]) ?? at(step + by[0], 0))?.focus();
  });
}

/** Why a hypothesis ended: the most that it could score with one more word, beside the worst that was kept there. */
function fate(beams, step, slot, kind) {
  if (kind === "best") return "It is part of the answer.";
  if (kind === "alive") return "It was kept to the end, but the answer scored higher.";
  const next = beams.steps[step + 1];
  if (!next) return "It was complete, with a lower score than the answer.";
  const kept = next.tokens.map((token, place) => (token < 0 ? null : next.scores[place])).filter((each) => each !== null);
  if (next.tokens.some((token, place) => token >= 0 && next.parents[place] === slot)) {
    return "Its continuations were dropped later.";
  }
  const least = decimal(Math.min(...kept));
  return `Its best next word took it to ${least} or lower in step ${step + 2}. The ${kept.length} kept there had ${least} or more.`;
}

function chosen(beams, [step, slot], kind, { hand, close }) {
  const tokens = pathTo(beams, step, slot);
  const words = [];
  for (let at = step, place = slot; at >= 0; at -= 1) {
    words.unshift(visible(shownToken(beams.steps[at].texts[place])));
    place = beams.steps[at].parents[place];
  }
  return el("div", { class: "chosen-node", role: "group", "aria-label": "Selected hypothesis" },
    el("p", {}, el("b", { dir: "auto" }, words.join(" ")), ` · log-probability ${decimal(beams.steps[step].scores[slot])}`),
    el("p", {}, fate(beams, step, slot, kind)),
    el("p", {}, hand.possible && button("Go on from here", () => hand.begin(tokens),
      { disabled: !tokens || beams.steps[step].texts[slot] === END, class: "main small", "data-key": "go-on" }), " ",
    button("Close", close, { class: "small", "data-key": "close-node" })));
}

/** Draw the tree of one answer. A click on a node tells why it was kept or dropped. */
export function searchLens({ trace, hand, of }, { app }) {
  const { beams } = trace;
  if (!beams) {
    const again = hand.possible && button("Search with beam 5", () => app.update({ options: { ...app.state.options,
      beam: 5 } }, { push: true }), { class: "main", "data-key": "beam-5" });
    return el("div", { class: "search-view" }, el("p", { class: "quiet" }, hand.possible
      ? "This answer was written greedily: the likeliest word at each step. A beam search keeps several beginnings."
      : "This answer was not found by a beam search, so there is no tree to show."), again && el("p", {}, again));
  }
  const alive = survivors(beams);
  const columns = columnsOf(beams);
  const last = lastOf(beams);
  const kindOf = (step, slot) => (beams.best[step] === slot && step <= last ? "best"
    : alive[step].has(slot) ? "alive" : "dead");
  const place = el("div", { class: "node-place" });
  const close = () => place.replaceChildren();
  const choose = (anchor, step, slot) => place.replaceChildren(chosen(beams, [step, slot], kindOf(step, slot),
    { hand, close: () => { close(); anchor.focus(); } }));
  const [edges, nodes] = [[], new Map()];
  beams.steps.slice(0, last + 1).forEach((step, number) => step.tokens.forEach((token, slot) => {
    if (token < 0) return;
    const kind = kindOf(number, slot);
    nodes.set(`${number} ${slot}`, node(beams, columns, number, slot, kind, choose));
    const parent = step.parents[slot];
    if (number === 0 || beams.steps[number - 1].tokens[parent] < 0) return;
    const [x0, y0, x1, y1] = [columns[number - 1].end, ROW * parent + 26, columns[number].start, ROW * slot + 26];
    edges.push(svg("path", { class: `edge ${kind}`, d: `M${x0} ${y0}C${x0 + 17} ${y0} ${x1 - 17} ${y1} ${x1} ${y1}` }));
  }));
  const size = { width: (columns[last]?.end ?? 0) + 12, height: ROW * beams.width + 4 };
  const shown = svg("svg", { class: "beam", "data-arrows": true, ...size, role: "group",
    "aria-label": `Beam of ${beams.width}, ${last + 1} steps` }, edges, [...nodes.values()]);
  const scroll = el("div", { class: "scroll", role: "region", "aria-label": "Beam tree", "data-scroll": `beam-${of}` }, shown);
  steer(scroll, nodes);
  return el("div", { class: "search-view" },
    el("p", { class: "legend" }, el("span", { class: "node-key best" }, "the answer"),
      el("span", { class: "node-key alive" }, "kept to the end"),
      el("span", { class: "node-key dead" }, "dropped"), el("span", {}, "numbers: log-probability so far")),
    scroll, place);
}

// The beam as a tree: surviving hypotheses, dead ends, and the path of the output.
import { el, svg } from "saccade/dom";
import { breadth, clip, decimal, visible } from "saccade/words";

const ROW = 52;
const LETTERS = 14;

/** For each step, the set of slots that lead to the last step. */
function survivors(beams) {
  const alive = beams.steps.map(() => new Set());
  for (let step = beams.steps.length - 1; step >= 0; step -= 1) {
    beams.steps[step].tokens.forEach((token, slot) => {
      if (token < 0) return;
      if (step === beams.steps.length - 1 || alive[step].has(slot)) {
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
    const width = 20 + 9.2 * Math.max(2, ...step.texts.map((text) => breadth(clip(visible(text), LETTERS))));
    const start = x;
    x += width + 34;
    return { start, width, end: start + width };
  });
}

function node(beams, columns, step, slot, kind, choose) {
  const { texts, scores } = beams.steps[step];
  const { start, width } = columns[step];
  const y = ROW * slot + 8;
  const name = visible(texts[slot]);
  const told = { best: "on the way of the answer", alive: "survived", dead: "dead end" }[kind];
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

/** Left and right arrow keys move through the steps, up and down through the slots of a step. */
function steer(shown, nodes) {
  const at = (step, slot) => nodes.get(`${step} ${slot}`);
  nodes.values().next().value?.setAttribute("tabindex", "0");
  shown.addEventListener("focusin", (event) => {
    for (const each of nodes.values()) each.setAttribute("tabindex", each === event.target ? "0" : "-1");
  });
  shown.addEventListener("keydown", (event) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    const key = [...nodes].find(([, each]) => each === event.target)?.[0];
    if (!by || !key) return;
    event.preventDefault();
    const [step, slot] = key.split(" ").map(Number);
    (at(step + by[0], slot + by[1]) ?? at(step + by[0], 0))?.focus();
  });
}

/** Draw the tree; a click calls `choose` with an anchor, a step and a slot. */
export function beamTree(beams, choose) {
  const alive = survivors(beams);
  const columns = columnsOf(beams);
  const kindOf = (step, slot) => (beams.best[step] === slot ? "best" : alive[step].has(slot) ? "alive" : "dead");
  const [edges, nodes] = [[], new Map()];
  beams.steps.forEach((step, number) => step.tokens.forEach((token, slot) => {
    if (token < 0) return;
    const kind = kindOf(number, slot);
    nodes.set(`${number} ${slot}`, node(beams, columns, number, slot, kind, choose));
    const parent = step.parents[slot];
    if (number === 0 || beams.steps[number - 1].tokens[parent] < 0) return;
    const [x0, y0, x1, y1] = [columns[number - 1].end, ROW * parent + 26, columns[number].start, ROW * slot + 26];
    edges.push(svg("path", { class: `edge ${kind}`, d: `M${x0} ${y0}C${x0 + 17} ${y0} ${x1 - 17} ${y1} ${x1} ${y1}` }));
  }));
  const size = { width: (columns.at(-1)?.end ?? 0) + 12, height: ROW * beams.width + 4 };
  const shown = svg("svg", { class: "beam", "data-arrows": true, ...size, role: "group",
    "aria-label": `Beam of ${beams.width}, ${beams.steps.length} steps` }, edges, [...nodes.values()]);
  steer(shown, nodes);
  return el("div", { class: "beam-view" },
    el("p", { class: "legend" }, el("span", { class: "node-key best" }, "the answer"),
      el("span", { class: "node-key alive" }, "survived to the end"),
      el("span", { class: "node-key dead" }, "dead end"), el("span", {}, "numbers: log-probability so far")),
    el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Beam tree", "data-scroll": "beam" },
      shown));
}

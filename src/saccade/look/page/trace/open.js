// Parsing and validation of traces: an invalid trace raises a Fault with a message to show.
import { Fault, unpack } from "saccade/trace/packed";

const VERSION = 1;
export { Fault };

function need(holds, sentence) {
  if (!holds) throw new Fault(sentence);
}

const text = (value) => typeof value === "string";
const number = (value) => typeof value === "number" && Number.isFinite(value);
const record = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const listOf = (value, kind) => Array.isArray(value) && value.every(kind);
const placeIn = (size) => (value) => Number.isInteger(value) && value >= 0 && value < size;

function checkSide(side, name, where) {
  const at = `${where}: the side ${name}`;
  need(record(side) && text(side.text), `${at} has no text.`);
  need(listOf(side.tokens, text) && listOf(side.words, text), `${at} needs lists of tokens and words.`);
  need(Array.isArray(side.word_of) && side.word_of.length === side.tokens.length,
    `${at} needs one number in word_of for each of its ${side.tokens.length} tokens.`);
  need(side.word_of.every(placeIn(side.words.length + 1)),
    `${at} has a word_of outside its ${side.words.length} words.`);
  const marks = side.marks ?? [];
  need((side.turn_of ?? null) === null || (listOf(side.turn_of, placeIn(side.tokens.length + 1))
    && side.turn_of.length === side.tokens.length), `${at} needs one number in turn_of for each of its tokens.`);
  need(listOf(marks, placeIn(side.tokens.length)), `${at} has marks outside its ${side.tokens.length} tokens.`);
  const image = side.image ?? null;
  need(image === null || (text(image) && image.startsWith("data:image/")),
    `${at} has an image that is not inside the file.`);
  const grid = side.grid ?? null;
  need(grid === null || (listOf(grid, Number.isInteger) && grid.length === 2
    && Math.min(...grid) > 0 && grid[0] * grid[1] === side.tokens.length),
    `${at} has a grid that does not fit its tokens.`);
  return { ...side, kind: side.kind ?? "text", marks, image, grid };
}

async function checkSite(site, sides, where) {
  need(record(site) && text(site.name), `${where}: a site has no name.`);
  const at = `${where}: the site ${site.name}`;
  for (const part of ["score", "align", "formula", "rows", "columns"]) need(text(site[part]), `${at} has no ${part}.`);
  for (const side of [site.rows, site.columns]) need(sides.has(side),
    `${at} names the side ${side}, which is not there.`);
  need(site.layer === null || site.layer === undefined || Number.isInteger(site.layer),
    `${at} has a layer that is no number.`);
  need(Number.isInteger(site.heads) && site.heads >= 1, `${at} needs at least one head.`);
  const wanted = [site.heads, sides.get(site.rows).tokens.length, sides.get(site.columns).tokens.length];
  const arrays = {};
  for (const part of ["weights", "scores"]) {
    if (part === "scores" && (site.scores ?? null) === null) continue;
    const array = await unpack(site[part], `${at}, ${part},`);
    need(String(array.shape) === String(wanted),
      `${at} has ${part} of the shape ${array.shape.join(" × ")}, but its sides need ${wanted.join(" × ")}.`);
    arrays[part] = array;
  }
  return { ...site, layer: site.layer ?? null, scores: null, ...arrays };
}

function checkSteps(steps, sides, where) {
  need(Array.isArray(steps), `${where}: steps must be a list.`);
  const candidate = (entry) =>
    Array.isArray(entry) && entry.length === 3 && Number.isInteger(entry[0]) && text(entry[1]) && number(entry[2]);
  steps.forEach((step, place) => {
    const at = `${where}: step ${place}`;
    need(record(step) && Number.isInteger(step.token) && text(step.text) && number(step.log_probability),
      `${at} needs a token, a text and a log-probability.`);
    need(listOf(step.candidates, candidate), `${at} has candidates that are not [token, text, log-probability].`);
    need((step.copies ?? null) === null || listOf(step.copies, (copy) => Array.isArray(copy) && copy.length === 2
      && placeIn(sides.get("source")?.tokens.length ?? 0)(copy[0]) && number(copy[1])),
    `${at} has copies that are not [source token, probability].`);
    need(record(step.norms ?? {}) && Object.values(step.norms ?? {}).every(number),
      `${at} has norms that are no numbers.`);
  });
  const written = sides.get("target")?.tokens.length;
  need(steps.length === 0 || written === undefined || steps.length === written,
    `${where}: there are ${steps.length} steps for ${written} target tokens.`);
  return steps;
}

function checkGlimpses(glimpses, steps, where) {
  if (glimpses === null || glimpses === undefined) return null;
  const box = (edges) => listOf(edges, number) && edges.length === 4;
  need(record(glimpses) && listOf(glimpses.boxes, (scales) => listOf(scales, box) && scales.length > 0)
    && glimpses.boxes.length === steps.length, `${where} has glimpses without a box for each of its ${steps.length} steps.`);
  return glimpses;
}

function checkBeams(beams, where) {
  if (beams === null || beams === undefined) return null;
  const at = `${where}: the beam`;
  need(record(beams) && Number.isInteger(beams.width) && beams.width >= 1 && Array.isArray(beams.steps),
    `${at} has no width or no steps.`);
  beams.steps.forEach((step, place) => {
    const full = (list, kind) => listOf(list, kind) && list.length === beams.width;
    need(record(step) && full(step.tokens, Number.isInteger) && full(step.texts, text) && full(step.scores, number)
      && full(step.parents, placeIn(beams.width)), `${at} does not fit together in step ${place}.`);
  });
  need(listOf(beams.best, placeIn(beams.width)) && beams.best.length <= beams.steps.length,
    `${at} has a best path that leaves it.`);
  return beams;
}

function parse(source, where) {
  try {
    return JSON.parse(source);
  } catch {
    throw new Fault(`${where} is not JSON, so it is no trace. saccade look … -o trace.json makes one.`);
  }
}

/** Parse only the steps of a trace, without its arrays; `where` names it in errors. */
export function openSteps(source, where) {
  const found = parse(source, where);
  need(record(found) && record(found.sides), `${where} has no sides.`);
  const sides = new Map(Object.entries(found.sides).map(([name, side]) => [name, checkSide(side, name, where)]));
  return checkSteps(found.steps ?? [], sides, where);
}

/** Parse a trace; `where` names it in errors. The text is kept, to be saved unchanged. */
export async function openTrace(source, where) {
  const found = parse(source, where);
  need(record(found) && Number.isInteger(found.saccade_trace),
    `${where} is not a trace: it has no saccade_trace. saccade look … -o trace.json makes one.`);
  need(found.saccade_trace <= VERSION,
    `${where} was written by a newer saccade (trace version ${found.saccade_trace}, this page knows ${VERSION}).`);
  need(found.saccade_trace === VERSION, `${where} has the trace version ${found.saccade_trace}, which never was.`);
  need(text(found.task) && text(found.text) && number(found.score), `${where} needs a task, a text and a score.`);
  need(record(found.model) && text(found.model.name) && text(found.model.preset) && number(found.model.parameters),
    `${where} does not say which model answered.`);
  need(record(found.sides) && Array.isArray(found.sites), `${where} needs sides and sites.`);
  const sides = new Map(Object.entries(found.sides).map(([name, side]) => [name, checkSide(side, name, where)]));
  const sites = [];
  for (const site of found.sites) sites.push(await checkSite(site, sides, where));
  const vectors = new Map();
  need(record(found.vectors ?? {}), `${where}: vectors must be named.`);
  for (const [name, packed] of Object.entries(found.vectors ?? {})) {
    vectors.set(name, await unpack(packed, `${where}: the vector ${name}`));
  }
  const gold = found.gold ?? [];
  need(listOf(gold, (link) => listOf(link, Number.isInteger) && link.length === 2),
    `${where} has gold links that are not [source word, target word].`);
  const options = found.options ?? {};
  need(record(options), `${where} has options that are not named.`);
  const defaultSite = found.default_site ?? null;
  need(defaultSite === null || sites.some((site) => site.name === defaultSite),
    `${where} has a default_site that is none of its sites.`);
  need(listOf(found.left_out ?? [], text), `${where} has left_out that is no list of sentences.`);
  const steps = checkSteps(found.steps ?? [], sides, where);
  return { source, task: found.task, model: found.model, options, text: found.text, score: found.score, sides, sites,
    steps, vectors, glimpses: checkGlimpses(found.glimpses, steps, where), beams: checkBeams(found.beams, where), gold,
    leftOut: found.left_out ?? [], defaultSite };
}

// The stage: what was read and what was written, as lanes of words joined by ribbons.
import { byId, el, find, redraw } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { laneOf } from "saccade/lanes/table";
import { drawAsk } from "saccade/stage/ask";
import { changes, savedChanges } from "saccade/stage/changes";
import { contextOf } from "saccade/stage/context";
import { ribbons } from "saccade/stage/ribbons";
import { counterparts, matches, shiftOf } from "saccade/stage/diff";
import { judged } from "saccade/stage/drawn";
import { factsOf, notesOf } from "saccade/stage/facts";
import { fit, keepRoom } from "saccade/stage/fit";
import { spansOf } from "saccade/stage/spans";
import { copiedShare, draws, sureness, unknownTokens } from "saccade/trace/fold";

const MANY = 30;
/** Words in a lane; with more, the words wrap and only the ribbons of the word in question are drawn. */
const UNSURE = 0.5;
const SHIFT = 0.01;
/** The least change of a probability that is shown. */
const UNKNOWN = "not in the model's vocabulary";
const NAMES = { source: "Read", target: "Wrote", written: "Wrote before" };
const TASK_NAMES = { questions: { source: "Passage", question: "Question", target: "From, to", summary: "Attends" },
  glimpses: { source: "Image", target: "Believes" },
  episodes: { source: "Examples", target: "Answer" },
  "image-generation": { source: "Drew", target: "Class seen by the judge" },
  chat: { source: "Said", target: "Replies" } };
const nameOf = (side, task) => TASK_NAMES[task]?.[side] ?? NAMES[side] ?? side;

/** The states of a word that was read. */
function readLook(answer) {
  const unknown = unknownTokens(answer.trace.sides.get(answer.site?.columns ?? "source"));
  return (word) => {
    const hidden = answer.site?.columns !== "written" && answer.hand.hidden(word);
    const never = word.places.some((place) => unknown.has(place));
    return { classes: [hidden && "hidden-word", never && "unknown"], title: never ? UNKNOWN : null,
      told: [hidden && "hidden", never && UNKNOWN].filter(Boolean) };
  };
}

/** The states of a word that was written; `first` is the answer that others are compared with. */
function wroteLook(answer, first) {
  const { trace, diff, hand, figure } = answer;
  const fresh = new Set(diff?.fresh.flatMap((entry) => entry.places));
  const alike = answer === first ? null : matches(...[first, answer].map((each) => each.figure.rows.map(({ name }) => name)));
  const differing = new Set(figure.rows.filter((_, row) => alike?.[row] === null));
  return (word) => {
    const sure = sureness(trace, word);
    const shift = shiftOf(answer, word);
    const changed = word.places.some((place) => fresh.has(place));
    const yours = hand.yours(word);
    const unsure = sure !== null && sure < UNSURE && !word.mark;
    const copied = word.mark ? 0 : copiedShare(trace, word) ?? 0;
    const moved = shift && Math.abs(shift[1] - shift[0]) >= SHIFT;
    return { classes: [changed && "changed", yours && "yours", unsure && "unsure", differing.has(word) && "differs",
      copied > UNSURE && "copied"],
      shift: moved ? `${Math.round(100 * shift[0])} → ${percent(shift[1])}` : null,
      told: [sure !== null && `${percent(sure)} sure`, copied > UNSURE && `${percent(copied)} copied`, moved && `before ${percent(shift[0])}`, yours && "written by you",
        changed && "changed", differing.has(word) && "the first answer has another word"].filter(Boolean) };
  };
}

/** The lane of one answer's rows. */
function wroteLane(answer, scene, app, light, many) {
  const { figure, site, of } = answer;
  const name = site?.rows ?? "target";
  const label = many ? visible(answer.label) : figure.own ? "attends" : nameOf(name, answer.trace.task);
  return laneOf({ key: `wrote-${of}`, name, label, words: figure.rows, rows: true, unit: scene.state.unit,
    picked: scene.pick?.of === of ? scene.pick.row : null, look: name === "target" || name === "written" ? wroteLook(answer, scene.first)
      : readLook(answer), answer, light,
    pick: (row) => app.update({ pick: { row, column: null, of }, step: figure.rows[row].places[0] }), note: cutNote(answer) });
}

function cutNote({ trace, site }) {
  const most = trace.options.max_length;
  const last = trace.sides.get("target")?.marks ?? [];
  if ((site && site.rows !== "target") || !trace.steps.length || last.includes(trace.steps.length - 1)
    || ["classification", "episodes", "glimpses", "image-generation", "questions"].includes(trace.task)) return null;
  return el("span", { class: "cut" }, `… cut at ${Number.isInteger(most) ? most : trace.steps.length} tokens`);
}

/** The lane of what is attended to. */
function readLane(answer, scene, app, light) {
  const { figure, site, of } = answer;
  const name = site?.columns ?? "source";
  const looks = figure.own && figure.side !== null; // places of an image attend, too: a click selects one that looks
  return laneOf({ key: answer === scene.first ? "read" : `read-${of}`, name, label: figure.own ? "is attended to" : nameOf(name, answer.trace.task),
    words: figure.columns, rows: false, unit: scene.state.unit, look: readLook(answer), answer, light,
    picked: scene.pick && scene.pick.row === null ? scene.pick.column : null, app,
    pick: (place) => app.update({ pick: looks ? { row: place, column: null, of } : { row: null, column: place, of } }) });
}

/** Light images by the weights of the place in question, each by those of its own answer. */
function followDrawn(light, drawn) {
  light.listen(() => drawn.forEach(([answer, lane]) => {
    const { figure, site } = answer;
    const row = light.row !== null && light.row < figure.rows.length ? light.row : null;
    lane.light(row === null || !site ? null : figure.columns.map((_, place) => figure.at(row, place)), row, row, figure);
  }));
}

/** Light the words of both lanes by the weights of the word in question. */
function follow(light, read, wrote, answers) {
  light.listen(() => {
    const { column, of } = light;
    const lit = answers.find((answer) => answer.of === of) ?? answers[0];
    const row = light.empty && lit.figure.rows.length === 1 ? 0 : light.row; // a single row needs no pointing
    read.light(row === null || !lit.site ? null : lit.figure.columns.map((_, place) => lit.figure.at(row, place)),
      read.alone ? row : column, row, lit.figure);
    wrote.forEach((lane, number) => {
      const { figure } = answers[number];
      const same = column !== null && row === null && column < figure.columns.length;
      const most = same && read.faint ? Math.max(1e-9, ...figure.rows.map((_, place) => figure.at(place, column))) : 1;
      lane.light(same ? figure.rows.map((_, place) => figure.at(place, column) / most) : null,
        light.rowOf(answers[number].of));
    });
  });
}

/** The word of one answer that stands for a word of another, for pointing at both. */
function twinsOf(answers) {
  const known = new Map();
  return (of, row, to) => {
    if (of === to) return row;
    const pair = [of, to].map((place) => answers.find((answer) => answer.of === place));
    if (pair.some((answer) => !answer || (answer.site?.rows ?? "target") !== "target")) return null;
    const key = `${of} ${to}`;
    if (!known.has(key)) known.set(key, counterparts(...pair.map(({ figure }) => figure.rows.map(({ name }) => name))));
    const found = known.get(key).indexOf(row);
    return found < 0 ? null : found;
  };
}

/** Lanes of all answers that have a trace; measured and joined by ribbons after they are on the page. */
function lanes(scene, app, light) {
  const { first } = scene;
  const answers = [first, ...scene.answers.filter((answer) => answer.trace && answer !== first)];
  const several = scene.answers.length > 1;
  const read = first.figure.columns.length ? readLane(first, scene, app, light) : null;
  const drawn = answers.filter(({ trace, figure }) => draws(trace) && figure.side)
    .map((answer) => [answer, answer === first ? read : readLane(answer, scene, app, light)]);
  const gallery = several && drawn.length > 0; // each image stands above what is said of it
  const pictureOf = (answer) => gallery && drawn.find(([other]) => other === answer)?.[1].element;
  const wrote = answers.map((answer) => wroteLane(answer, scene, app, light, several));
  const sparse = Math.max(...[read, ...wrote].map((lane) => lane?.line.length ?? 0)) > MANY;
  const box = el("div", { class: ["lanes", sparse && "wrapped", gallery ? "gallery" : read?.layout, several && "several"].filter(Boolean).join(" "),
    "data-scroll": "lanes" });
  const joined = answers.map((answer, number) => [answer, number]).filter(([answer, number]) => read?.joined
    && wrote[number].joined && answer.site && (number === 0 || answer.figure.columns.length === first.figure.columns.length));
  const ribbonsOf = joined.map(([answer, number]) => ribbons(box, answer.figure, read.rectOf, wrote[number].rectOf,
    { light, of: answer.of, sparse, below: number > 0 }));
  const each = answers.map((answer, number) => el("div", { class: answer.slow || answer.fault ? "answer busy" : "answer" },
    pictureOf(answer), draws(answer.trace) ? judged(answer, several) : !read?.alone && wrote[number].element, spansOf(answer, number === 0 ? read : null),
    changes(answer, app, { last: number === answers.length - 1 && !(app.sheet && scene.pick),
      covered: app.sheet && scene.pick?.of === answer.of }), savedChanges(answer), notesOf(answer)));
  answers.forEach((answer, number) => (find(draws(answer.trace) ? ".judged p" : ".lane-name", draws(answer.trace) ? each[number]
    : wrote[number].element) ?? each[number]).append(factsOf(answer)));
  box.append(...[...contextOf(first, read, scene, app, light), !gallery && read?.element, el("div", { class: "answers" }, each),
    ...ribbonsOf.map(({ element }) => element)].filter(Boolean));
  light.twin = twinsOf(answers);
  if (drawn.length) followDrawn(light, drawn);
  else if (read) follow(light, read, wrote, answers);
  return { box, place: () => {
    const present = document.body.classList.contains("present");
    const { text, passage, turns, models, traces, site, unit, sinks } = app.state;
    const same = JSON.stringify([text, passage, turns, app.image?.id, models, traces, site, unit, sinks, innerWidth, present]);
    const held = app.steady || answers.some((answer) => answer.busy);
    keepRoom(box, same, held, !sparse && !read?.sized ? (most) => fit(box, present, most) : null);
    ribbonsOf.forEach(({ place }) => place());
    const wraps = ribbonsOf.some((each) => each.wraps());
    box.classList.toggle("lines", wraps);
    if (wraps) light.rest({ row: 0, column: null, of: first.of }); // where lanes wrap, one word has ribbons at a time
    for (const lane of [read, ...wrote]) lane?.settle?.();
  } };
}

/** What to do while a model that reads files has none. */
const ASKS = { picture: "Choose an image, drop one on the page, or paste it.",
  sound: "Record something, choose a sound, or drop one on the page.",
  episode: "Give examples of two labels or more, then ask about an image." };

function waiting(answer, app) {
  const kind = app.models.find((model) => model.name === answer.model)?.input;
  return el("p", { class: "quiet" }, answer.fault ? `${visible(answer.label)}: no answer yet.`
    : answer.busy ? "Waiting for the answer …"
      : ASKS[kind] ? ASKS[kind]
        : kind === "dialogue" ? "Say something: the model replies."
          : "Write something: the answer appears while you type.");
}

let measure = null;
const sizes = new ResizeObserver(() => measure?.());

/** Draw the stage. */
export function drawStage(scene, app, light) {
  const missing = scene.answers.filter((answer) => !answer.trace);
  const made = scene.first ? lanes(scene, app, light) : null;
  drawAsk(scene, app);
  redraw(byId("scene"), made?.box ?? el("div", { class: "ghost", "aria-hidden": "true" }, el("i"), el("i"), el("i"), el("i")),
    missing.map((answer) => waiting(answer, app)));
  sizes.disconnect();
  measure = made?.place ?? null;
  if (made) sizes.observe(made.box);
  measure?.();
}

// The stage: what was read and what was written, as lanes of words joined by ribbons.
import { button, byId, el, redraw } from "saccade/base/dom";
import { breadth, decimal, percent, visible } from "saccade/base/format";
import { laneOf } from "saccade/lanes/table";
import { plainLane } from "saccade/lanes/text";
import { drawAsk } from "saccade/stage/ask";
import { contextOf } from "saccade/stage/context";
import { ribbons } from "saccade/stage/ribbons";
import { sentenceOf } from "saccade/stage/diff";
import { spansOf } from "saccade/stage/spans";
import { copiedShare, sureness, unknownTokens } from "saccade/trace/fold";

const MANY = 30;
/** Words in a lane; with more, the words wrap and only the ribbons of the word in question are drawn. */
const UNSURE = 0.5;
const NAMES = { source: "Read", target: "Wrote", written: "Wrote before" };
const TASK_NAMES = { questions: { source: "Passage", question: "Question", target: "From, to", summary: "Attends" },
  chat: { source: "Said", target: "Replies" } };
const nameOf = (side, task) => TASK_NAMES[task]?.[side] ?? NAMES[side] ?? side;

/** The states of a word that was read. */
function readLook(answer) {
  const unknown = unknownTokens(answer.trace.sides.get(answer.site?.columns ?? "source"));
  return (word) => {
    const hidden = answer.site?.columns !== "written" && answer.hand.hidden(word);
    const never = word.places.some((place) => unknown.has(place));
    return { classes: [hidden && "hidden-word", never && "unknown"],
      told: [hidden && "hidden", never && "never seen in training"].filter(Boolean) };
  };
}

/** The states of a word that was written. */
function wroteLook(answer) {
  const { trace, diff, hand } = answer;
  const fresh = diff ? new Set(diff.after.filter((_, place) => diff.kept[place] === null)
    .flatMap((entry) => entry.places)) : new Set();
  const forced = hand.model === null || hand.state.on !== hand.model ? 0 : hand.state.force.length;
  return (word) => {
    const sure = sureness(trace, word);
    const changed = word.places.some((place) => fresh.has(place));
    const yours = word.places.some((place) => place === forced - 1);
    const unsure = sure !== null && sure < UNSURE && !word.mark;
    const copied = word.mark ? 0 : copiedShare(trace, word) ?? 0;
    return { classes: [changed && "changed", yours && "yours", unsure && "unsure", copied > UNSURE && "copied"],
      told: [sure !== null && `${percent(sure)} sure`, copied > UNSURE && `${percent(copied)} copied`, yours && "written by you", changed && "changed"]
        .filter(Boolean) };
  };
}

/** The lane of one answer's rows. */
function wroteLane(answer, scene, app, light, many) {
  const { figure, site, of } = answer;
  const name = site?.rows ?? "target";
  const label = many ? visible(answer.label) : figure.own ? "attends" : nameOf(name, answer.trace.task);
  return laneOf({ key: `wrote-${of}`, name, label, words: figure.rows, rows: true, unit: scene.state.unit,
    picked: scene.pick?.of === of ? scene.pick.row : null, look: name === "target" || name === "written" ? wroteLook(answer)
      : readLook(answer), answer, light,
    pick: (row) => app.update({ pick: { row, column: null, of }, step: figure.rows[row].places[0] }), note: cutNote(answer) });
}

function cutNote({ trace, site }) {
  const most = trace.options.max_length;
  const last = trace.sides.get("target")?.marks ?? [];
  if ((site && site.rows !== "target") || !trace.steps.length || last.includes(trace.steps.length - 1)
    || ["classification", "questions"].includes(trace.task)) return null;
  return el("span", { class: "cut" }, `… cut at ${Number.isInteger(most) ? most : trace.steps.length} tokens`);
}

/** The lane of what attention looks at. */
function readLane(answer, scene, app, light) {
  const { figure, site, of } = answer;
  const name = site?.columns ?? "source";
  return laneOf({ key: "read", name, label: figure.own ? "is attended to" : nameOf(name, answer.trace.task),
    words: figure.columns, rows: false, unit: scene.state.unit, look: readLook(answer), answer, light,
    picked: scene.pick && scene.pick.row === null ? scene.pick.column : null,
    pick: (column) => app.update({ pick: { row: null, column, of } }) });
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
        answers[number].of === of ? row : null);
    });
  });
}

/** The answer before the changes, and what the changes did; after the `last` answer, how to take them back. */
function changes(answer, app, last) {
  if (!answer.diff || answer.model === null) return null;
  const { base, trace, site, diff } = answer;
  return el("div", { class: "changes" }, plainLane({ label: "Was", words: diff.old }),
    el("p", { class: "what-happened" }, el("span", {}, sentenceOf(base, trace, site, app.state, diff)),
      last && app.depth > 0 && button("Undo", () => app.undo(), { class: "small", "data-key": "undo", title: "Z" }),
      last && button("Start over", () => app.startOver(), { class: "small", "data-key": "start-over" })));
}

/** What was changed before the trace was saved, in words. */
function savedChanges({ trace, model }) {
  const { block = [], force = [], pull = [] } = model === null ? trace.options : {};
  const told = [block.length && `${block.length} tokens hidden`, force.length && `${force.length} tokens given`,
    pull.length && `${pull.length} weights set by hand`].filter(Boolean);
  return told.length > 0 && el("p", { class: "quiet" }, `Saved with changes: ${told.join(", ")}.`);
}

function factsOf({ trace, site }) {
  const { preset, parameters } = trace.model;
  return el("p", { class: "quiet facts" }, `${visible(preset)} · ${parameters.toLocaleString("en")} parameters · `
    + `score ${decimal(trace.score)}`,
  !site && el("span", {}, " · This model has no attention: it reads everything into one vector."));
}

/** Lanes of all answers that have a trace; measured and joined by ribbons after they are on the page. */
function lanes(scene, app, light) {
  const answers = scene.answers.filter((answer) => answer.trace);
  const [first] = answers;
  const several = scene.answers.length > 1;
  const read = first.figure.columns.length ? readLane(first, scene, app, light) : null;
  const wrote = answers.map((answer) => wroteLane(answer, scene, app, light, several));
  const lists = [read, ...wrote].filter(Boolean).map(({ line }) => line);
  const sparse = Math.max(...lists.map((words) => words.length)) > MANY;
  const box = el("div", { class: ["lanes", sparse && "wrapped", read?.layout, several && "several"].filter(Boolean).join(" "),
    "data-scroll": "lanes" });
  const joined = answers.map((answer, number) => [answer, number]).filter(([answer, number]) => read?.joined
    && wrote[number].joined && answer.site && (number === 0 || answer.figure.columns.length === first.figure.columns.length));
  const drawn = joined.map(([answer, number]) => ribbons(box, answer.figure, read.rectOf, wrote[number].rectOf,
    { light, of: answer.of, sparse, below: number > 0 }));
  const each = answers.map((answer, number) => el("div", { class: answer.slow ? "answer busy" : "answer" },
    !read?.alone && wrote[number].element, spansOf(answer, number === 0 ? read : null),
    changes(answer, app, number === answers.length - 1), savedChanges(answer), factsOf(answer)));
  box.append(...[...contextOf(first, read, scene, app, light), read?.element, el("div", { class: "answers" }, each),
    ...drawn.map(({ element }) => element)].filter(Boolean));
  if (read) follow(light, read, wrote, answers);
  return { box, place: () => {
    if (!document.body.classList.contains("present") && !sparse && !read?.sized) fit(box, lists);
    drawn.forEach(({ place }) => place());
    for (const lane of [read, ...wrote]) lane?.settle?.();
  } };
}

function waiting(answer, app) {
  const image = app.readsImages([answer.model]);
  const kind = app.models.find((model) => model.name === answer.model)?.input;
  return el("p", { class: "quiet" }, answer.fault ? `${visible(answer.label)}: no answer yet.`
    : answer.busy ? "Waiting for the answer …"
      : image ? "Choose an image, drop one on the page, or paste it."
        : kind === "dialogue" ? "Say something: the model replies."
          : "Write something: the answer appears while you type.");
}

let measure = null;
const sizes = new ResizeObserver(() => measure?.());

const [SMALLEST, LARGEST] = [17, 32];
/** Pixels of a word's letters: as large as fits into one line. */
const AROUND = 24;
/** Pixels around a word: padding, border and gap. */

/** Choose the size of the words, so that the longer lane fits into one line if it can. */
function fit(box, lists) {
  const room = box.querySelector(".words")?.clientWidth;
  if (!room) return;
  const sizes = lists.filter((words) => words.length).map((words) => (room - AROUND * words.length)
    / (0.57 * words.reduce((sum, word) => sum + breadth(visible(word.name)), 0)));
  const size = Math.min(...sizes, LARGEST);
  if (size >= SMALLEST) box.style.setProperty("--word", `${size.toFixed(1)}px`);
}

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

// The stage: what was read and what was written, as lanes of words joined by ribbons.
import { button, byId, el, redraw } from "saccade/base/dom";
import { breadth, decimal, percent, visible } from "saccade/base/format";
import { imageLane } from "saccade/lanes/image";
import { plainLane, textLane } from "saccade/lanes/text";
import { drawAsk } from "saccade/stage/ask";
import { ribbons } from "saccade/stage/ribbons";
import { sentenceOf } from "saccade/stage/diff";
import { isImage, sureness, unknownTokens } from "saccade/trace/fold";

const MANY = 30;
/** Words in a lane; with more, the words wrap and only the ribbons of the word in question are drawn. */
const UNSURE = 0.5;
const NAMES = { source: "Read", target: "Wrote", written: "Wrote before" };
const nameOf = (side) => NAMES[side] ?? side;

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
    return { classes: [changed && "changed", yours && "yours", unsure && "unsure"],
      told: [sure !== null && `${percent(sure)} sure`, yours && "written by you", changed && "changed"]
        .filter(Boolean) };
  };
}

/** The lane of one answer's rows. */
function wroteLane(answer, scene, app, light, many) {
  const { figure, site, of } = answer;
  const source = (site?.rows ?? "target") === "source";
  return textLane({ key: `wrote-${of}`, words: figure.rows,
    label: many ? visible(answer.label) : site?.rows === site?.columns && site ? "attends" : nameOf(site?.rows ?? "target"),
    picked: scene.pick?.of === of ? scene.pick.row : null, look: source ? readLook(answer) : wroteLook(answer),
    point: (row) => light.set(row, null, of), leave: () => light.clear(),
    pick: (row) => app.update({ pick: { row, column: null, of }, step: figure.rows[row].places[0] }),
    note: cutNote(answer) });
}

function cutNote({ trace, site }) {
  const most = trace.options.max_length;
  const last = trace.sides.get("target")?.marks ?? [];
  if ((site && site.rows !== "target") || !trace.steps.length || last.includes(trace.steps.length - 1)
    || trace.task === "classification") return null;
  return el("span", { class: "cut" }, `… cut at ${Number.isInteger(most) ? most : trace.steps.length} tokens`);
}

/** What is attended to: a lane of words, or an image. */
function readLane(answer, scene, app, light) {
  const { figure, site, of, hand } = answer;
  const picked = scene.pick && scene.pick.row === null ? scene.pick.column : null;
  const pick = (column) => app.update({ pick: { row: null, column, of } });
  const [point, leave] = [(column) => light.set(null, column, of), () => light.clear()];
  if (figure.side) return imageLane(figure, { light, of, pick, hidden: (region) => hand.hidden(region) });
  const own = site && site.rows === site.columns;
  return textLane({ key: "read", label: own ? "is attended to" : nameOf(site?.columns ?? "source"), words: figure.columns,
    picked, look: readLook(answer), point, leave, pick });
}

/** Light the words of both lanes by the weights of the word in question. */
function follow(light, read, wrote, answers) {
  light.listen(() => {
    const { row, column, of } = light;
    const lit = answers.find((answer) => answer.of === of) ?? answers[0];
    read.light(row === null || !lit.site ? null : lit.figure.columns.map((_, place) => lit.figure.at(row, place)), column, row);
    wrote.forEach((lane, number) => {
      const { figure } = answers[number];
      const same = column !== null && row === null && column < figure.columns.length;
      // the weights of one image region are small, so they are divided by their maximum
      const most = same && figure.side ? Math.max(1e-9, ...figure.rows.map((_, place) => figure.at(place, column))) : 1;
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
  const read = first.figure.columns.length || first.figure.side ? readLane(first, scene, app, light) : null;
  const wrote = answers.map((answer) => wroteLane(answer, scene, app, light, several));
  const rows = first.figure.own && first.figure.side ? [] : wrote;
  const count = Math.max(first.figure.side ? 0 : first.figure.columns.length,
    ...answers.map(({ figure }) => figure.rows.length));
  const sparse = count > MANY;
  const box = el("div", { class: ["lanes", sparse && "wrapped", first.figure.side && "beside", several && "several"]
    .filter(Boolean).join(" "), "data-scroll": "lanes" });
  const drawn = read && !first.figure.side
    ? answers.map((answer, number) => [answer, number]).filter(([answer, number]) => answer.site
      && (number === 0 || answer.figure.columns.length === first.figure.columns.length))
      .map(([answer, number]) => ribbons(box, answer.figure, read.rectOf, wrote[number].rectOf,
        { light, of: answer.of, sparse, below: number > 0 })) : [];
  const each = answers.map((answer, number) => el("div", { class: answer.slow ? "answer busy" : "answer" }, rows[number]?.element, changes(answer, app, number === answers.length - 1),
  savedChanges(answer), factsOf(answer)));
  const source = first.trace.sides.get("source");
  const image = !first.figure.side && source && isImage(source)
    && el("img", { class: "read-image", src: source.image, alt: "The image that was read" });
  box.append(...[image, read?.element, el("div", { class: "answers" }, each), ...drawn.map(({ element }) => element)]
    .filter(Boolean));
  if (read) follow(light, read, wrote, answers);
  const lists = [first.figure.side ? [] : first.figure.columns, ...answers.map(({ figure }) => figure.rows)];
  return { box, place: () => {
    if (!document.body.classList.contains("present") && !sparse) fit(box, lists);
    drawn.forEach(({ place }) => place());
  } };
}

function waiting(answer, app) {
  const image = app.readsImages([answer.model]);
  return el("p", { class: "quiet" }, answer.fault ? `${visible(answer.label)}: no answer yet.`
    : answer.busy ? "Waiting for the answer …"
      : image ? "Choose an image, drop one on the page, or paste it."
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

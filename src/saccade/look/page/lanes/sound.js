// A lane that is a sound: words where they were heard, the waveform, and the spectrogram, which stays clear where a word attends.
import { button, el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { playerOf } from "saccade/lanes/player";
import { byUse } from "saccade/trace/fold";

const HINT = "Point at a word, or at a moment of the sound. Drag over a stretch to hide it.";
const MOST = 5;
const DARKEST = 0.72;
const [WAVE, LINES, LINE] = [44, 3, 22];
/** Height of the waveform, and lines of words above it, with their height. */
const KNOWN = 0.5;
/** A word stands where half of its attention lies before. */

const seconds = (value) => `${value.toFixed(2)} s`;

/** The place of the median of a row's weights. */
function middle(figure, row) {
  let sum = 0;
  return Math.max(0, figure.columns.findIndex((_, place) => {
    sum += figure.at(row, place);
    return sum >= KNOWN;
  }));
}

function told(figure, { row, column }, key) {
  if (column !== null) {
    const users = byUse(figure, column, MOST).map((r) => `${visible(figure.rows[r].name)} ${percent(figure.at(r, column))}`);
    return `${seconds(column * key)}: ${users.join(", ") || "no word attends to it"}`;
  }
  if (row === null) return HINT;
  return `${visible(figure.rows[row].name)} attends most around ${seconds((middle(figure, row) + 0.5) * key)}`;
}

/** The words at the times where they were heard, in lines so that they do not cover each other. */
function heardWords(figure, width, { pick, hear }) {
  const ends = Array(LINES).fill(-1);
  return figure.rows.map((word, row) => {
    if (word.sink) return null;
    const left = (middle(figure, row) + 0.5) / width;
    const reach = 0.012 * (visible(word.name).length + 2);
    const free = ends.findIndex((end) => end < left - reach / 2);
    const line = free < 0 ? row % LINES : free;
    ends[line] = left + reach / 2;
    const chip = button(visible(word.name), () => { pick(row); hear(row); }, { class: "heard-word", dir: "auto",
      "data-place": row, "data-key": `heard-${row}`, title: "Play from this word" });
    chip.style.setProperty("left", `${(100 * left).toFixed(2)}%`);
    chip.style.setProperty("top", `${LINE * line}px`);
    return chip;
  }).filter(Boolean);
}

/** Draw the loudest and the quietest sample of each pixel column. */
function drawWave(canvas, samples) {
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  const loudest = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).color;
  for (let x = 0; x < width; x += 1) {
    const part = samples.subarray(Math.floor((x * samples.length) / width), Math.max(1, Math.ceil(((x + 1) * samples.length) / width)));
    const [low, high] = part.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 0]);
    const top = ((1 - high / loudest) * height) / 2;
    pen.fillRect(x, top, 1, Math.max(1, (((high - low) / loudest) * height) / 2));
  }
}

/** Darken a canvas where the weights are low, or clear it for null. */
function veil(canvas, weights) {
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (!weights) return;
  const most = Math.max(1e-9, ...weights);
  weights.forEach((weight, place) => {
    pen.fillStyle = `rgb(17 21 34 / ${(DARKEST * (1 - weight / most)).toFixed(3)})`;
    pen.fillRect(place, 0, 1, 1);
  });
}

/** A box between two places, in percent of the width. */
function put(mark, from, to, size) {
  mark.hidden = from === null;
  if (from === null) return;
  mark.style.setProperty("left", `${(100 * from) / size}%`);
  mark.style.setProperty("width", `${(100 * (to - from)) / size}%`);
}

/** Pointing, choosing and dragging over the box; `stretch(from, to)` is called while places are dragged over. */
function steer(box, size, { point, leave, pick, at, stretch, play }) {
  const within = (value) => Math.max(0, Math.min(size - 1, value));
  const find = (event) => {
    const { left, width } = box.getBoundingClientRect();
    return within(Math.floor(((event.clientX - left) * size) / width));
  };
  let begun = null;
  box.addEventListener("pointerdown", (event) => { begun = find(event); });
  box.addEventListener("pointermove", (event) => {
    const place = find(event);
    point(place);
    if (event.buttons && begun !== null && place !== begun) stretch(Math.min(begun, place), Math.max(begun, place) + 1);
  });
  box.addEventListener("pointerleave", leave);
  box.addEventListener("blur", leave);
  box.addEventListener("click", (event) => { if (find(event) === begun) { stretch(null, null); pick(find(event)); } });
  box.addEventListener("keydown", (event) => {
    const here = at();
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) point(here === null ? 0 : within(here + by));
    else if (event.key === "Enter" && here !== null) pick(here);
    else if (event.key === " ") play(here ?? 0);
    else return;
    event.preventDefault();
  });
}

/** A lane of the frames of a recording; see lanes/table.js. */
export function soundLane({ answer, light, point, leave, pick, side, app }) {
  const { figure, hand } = answer;
  const size = figure.columns.length;
  const key = side.seconds / Math.max(1, side.tokens.length);
  const [wave, over] = [el("canvas", { class: "wave", height: WAVE, width: 800, "aria-hidden": "true" }),
    el("canvas", { class: "veil", width: Math.max(1, size), height: 1, "aria-hidden": "true" })];
  const [cursor, chosen, head] = ["cursor", "stretch", "playhead"].map((name) => el("i", { class: name, hidden: true }));
  const closed = figure.columns.map((column, place) => {
    if (!hand.hidden(column)) return null;
    const mark = el("i", { class: "closed" });
    put(mark, place, place + 1, size);
    return mark;
  });
  const playButton = side.sound ? button("▶ Play", () => (player.playing ? player.stop() : player.play(0)),
    { class: "small", "data-key": "play-sound" }) : null;
  const player = side.sound ? playerOf(side.sound, (time) => put(head, time === null ? null : time / key, (time ?? 0) / key, size),
    (playing) => { playButton.textContent = playing ? "■ Stop" : "▶ Play"; }) : null;
  const hear = (from, to = null) => player?.play(from * key, to === null ? null : to * key);
  let part = null;
  const hide = button("", () => { if (part) hand.hideAll(figure.columns.slice(...part)); }, { class: "small", "data-key": "hide-stretch", hidden: true });
  const hearPart = button("", () => { if (part) hear(...part); }, { class: "small", "data-key": "play-stretch", hidden: true });
  const stretch = (from, to) => {
    part = from === null ? null : [from, to];
    put(chosen, from, to ?? 0, size);
    const name = part && `${(from * key).toFixed(2)} to ${seconds(to * key)}`;
    hide.hidden = !part || !hand.canHide;
    hearPart.hidden = !part || !player;
    hide.textContent = `Hide ${name}`;
    hearPart.textContent = `Play ${name}`;
  };
  const box = el("div", { class: "sound", tabindex: 0, role: "application", "data-arrows": true, "data-key": "sound",
    "aria-label": `The sound, ${seconds(side.seconds)}. Arrow keys move through it, Enter selects a moment, space plays from it.` },
  player && wave, el("div", { class: "bands" }, side.image && el("img", { src: side.image, alt: "Spectrogram" }), over), closed, chosen, cursor, head);
  steer(box, size, { point, leave, pick, stretch, at: () => light.column, play: (place) => hear(place) });
  const choose = (row) => app.update({ pick: { row, column: null, of: answer.of }, step: figure.rows[row].places[0] });
  const words = figure.crossing ? heardWords(figure, size, { pick: choose, hear: (row) => hear(startOf(figure, row)) }) : [];
  const lines = Math.max(1, ...words.map((chip) => parseFloat(chip.style.top) / LINE + 1));
  const line = el("div", { class: "heard-words", css: { height: `${LINE * lines}px` }, role: "group", "aria-label": "Words where they were heard" }, words);
  for (const chip of words) {
    const row = Number(chip.dataset.place);
    for (const kind of ["pointerenter", "focus"]) chip.addEventListener(kind, () => light.set(row, null, answer.of));
    for (const kind of ["pointerleave", "blur"]) chip.addEventListener(kind, leave);
  }
  const readout = el("p", { class: "readout hint" }, HINT);
  player?.samples.then((samples) => drawWave(wave, samples)).catch(() => wave.remove());
  return {
    element: el("div", { class: "lane listening" }, line, box, el("div", { class: "sound-acts" }, playButton, hearPart, hide, readout)),
    faint: true,
    light: (weights, pointed, row) => {
      veil(over, weights);
      put(cursor, pointed, pointed + 1, size);
      for (const chip of words) chip.classList.toggle("on", Number(chip.dataset.place) === row);
      readout.textContent = told(figure, light, key);
      readout.classList.toggle("hint", light.empty);
    },
  };
}

/** The first place of a row with a tenth of its largest weight. */
function startOf(figure, row) {
  const weights = figure.columns.map((_, place) => figure.at(row, place));
  return weights.findIndex((weight) => weight >= 0.1 * Math.max(...weights));
}

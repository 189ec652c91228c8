// Labeled images and a query for a few-shot learner: drawn on a sheet, or chosen from files.
import { button, el } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { read } from "saccade/share/files";
import { newSheet } from "saccade/share/draw";

const MOST = 24;
/** Labeled images that are kept. */
const LARGEST = 1e6;
const HINT = "Draw or choose examples of two labels or more. Then draw one and ask about it.";
const known = new Map();
let [made, count, query] = [null, 0, null];

/** Send the support and the query, if both are there. */
function ask(app) {
  if (known.size < 2 || query === null) {
    app.say(known.size < 2 ? "Examples of two labels or more are needed first." : "Draw or choose an image to ask about.");
    return;
  }
  count += 1;
  const base64 = { support: Object.fromEntries(known), query };
  app.setFile({ id: `episode ${count}`, name: "labeled images", kind: "episode", base64 });
}

function shownLabels(app) {
  return [...known].map(([label, images]) => el("span", { class: "examples-of" }, el("b", { dir: "auto" }, visible(label)),
    images.map((image) => el("img", { src: `data:image/png;base64,${image}`, alt: "", width: 36, height: 36 })),
    button("×", () => { known.delete(label); draw(app); }, { class: "small", "aria-label": `Remove the examples of ${visible(label)}`,
      "data-key": `remove-${label}` })));
}

function draw(app) {
  made.list.replaceChildren(...shownLabels(app));
}

function add(app, image) {
  const label = made.label.value.trim();
  const total = [...known.values()].reduce((sum, images) => sum + images.length, 0);
  if (!label || total >= MOST) {
    app.say(label ? `There are ${MOST} examples, the most that are kept.` : "Write the label of this example first.");
    return false;
  }
  known.set(label, [...(known.get(label) ?? []), image]);
  draw(app);
  return true;
}

async function addFiles(app, files) {
  for (const file of files) {
    if (file.size > LARGEST) app.say(`${visible(file.name)} has more than 1 MB. Save it smaller.`);
    else if (!add(app, await read(file))) return;
  }
}

function files(app, label, key, take, several) {
  const input = el("input", { type: "file", accept: "image/*", multiple: several, "data-key": key, id: key });
  input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
  return el("label", { class: "as-button small" }, el("span", {}, label), input);
}

/** Use an image as the query. */
export function askAbout(app, image) {
  query = image;
  ask(app);
}

/** The sheet, the examples and the buttons; they stay in the page. */
export function supportField(app) {
  if (made) return made.element;
  const sheet = newSheet();
  const label = el("input", { type: "text", id: "support-label", maxlength: 40, placeholder: "Label", "aria-label": "Label of the example",
    "data-key": "support-label" });
  const list = el("div", { class: "support-list" });
  const drawnOne = (then) => () => {
    if (sheet.empty()) app.say("The sheet is empty. Draw on it first.");
    else if (then(sheet.base64()) !== false) sheet.clear();
  };
  const buttons = el("div", { class: "support-buttons" }, label,
    button("Add as an example", drawnOne((image) => add(app, image)), { "data-key": "add-example" }),
    files(app, "Add files", "support-files", (chosen) => addFiles(app, chosen), true),
    button("Ask about it", drawnOne((image) => askAbout(app, image)), { class: "main", "data-key": "ask-about" }),
    files(app, "Ask about a file", "query-file", async ([file]) => { if (file) askAbout(app, await read(file)); }, false),
    button("Clear", sheet.clear, { class: "small", "data-key": "clear-support-sheet" }));
  made = { label, list, element: el("div", { class: "drawing support" }, sheet.canvas, el("div", {}, el("p", { class: "quiet" }, HINT),
    buttons, list)) };
  return made.element;
}

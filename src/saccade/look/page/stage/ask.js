// The input of the model: text that can be edited, an image, and examples to try.
import { button, byId, el, redraw } from "saccade/base/dom";
import { clip, visible } from "saccade/base/format";
import { untouched } from "saccade/state/link";
import { takeImage } from "saccade/share/images";

const LABELS = { translation: "Sentence to translate", language: "Text to go on from",
  classification: "Text to judge" };
const SHORT = 44;

function examples(app) {
  const list = app.examples;
  if (!list.length) return null;
  return el("div", { class: "examples", role: "group", "aria-label": "Examples" }, el("span", { class: "quiet" }, "Try"),
    list.map((example, place) => {
      const attributes = { class: "example", "data-key": `example-${place}`, "data-example": place, dir: "auto" };
      const content = example.image ? el("img", { src: example.image, alt: visible(example.name), width: 44, height: 44 })
        : visible(clip(example.input, SHORT));
      return button(content, () => app.showExample(example), attributes);
    }));
}

/** The field to write in. It stays in the page while one writes, so that no letter is lost. */
let field = null;

function textField(app) {
  const task = app.models.find((model) => model.name === app.state.models[0])?.task;
  if (!field) {
    field = el("textarea", { id: "text", rows: 1, dir: "auto", spellcheck: "false", maxlength: 20000,
      placeholder: "Write a text …", "data-key": "text" });
    field.addEventListener("input", () => app.type(field.value));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
      event.preventDefault();
      app.editing = false;
      app.draw();
      byId("stage").querySelector(".word, .edit")?.focus();
    });
  }
  field.setAttribute("aria-label", LABELS[task] ?? "Text");
  if (field.value !== app.state.text) field.value = app.state.text;
  return field;
}

/** Open the field and put the cursor into it. */
export function edit(app) {
  if (!app.engine.live || !app.readsText()) return;
  app.editing = true;
  app.typing = false;
  app.draw();
  field?.focus();
  field?.select();
}

function imageField(app) {
  const input = el("input", { type: "file", id: "image", accept: "image/*", "data-key": "image-file" });
  input.addEventListener("change", () => { if (input.files.length) takeImage(input.files[0], app); });
  return el("div", { class: "ask-image" },
    el("label", { class: "as-button" }, el("span", {}, "Choose an image"), input),
    el("span", { class: "quiet", id: "image-name", dir: "auto" }, app.image ? app.image.name
      : "or drop one on the page, or paste it"));
}

function row(app, open) {
  if (!app.engine.live) {
    return el("p", { class: "quiet", id: "no-model" },
      "A saved answer: everything can be viewed, but nothing new can be asked. ",
      "For that, open the explorer with ", el("code", {}, "saccade serve MODEL"), ".");
  }
  return el("div", { class: "ask" },
    app.readsImages() && imageField(app),
    open ? textField(app)
      : text(app) && button([el("span", { "aria-hidden": "true" }, "✎"), " Edit the text"], () => edit(app),
        { class: "edit small", "data-key": "edit", title: "/" }),
    !open && undoable(app) && button("Undo", () => app.undo(), { class: "small", "data-key": "undo-text", title: "Z" }),
    examples(app));
}

/** Another text can be taken back here; a change of the answer beside what came of it. */
const undoable = (app) => app.depth > 0 && untouched(app.state);
const text = (app) => app.readsText() || !app.readsImages();
let drawn = null;

/** Draw the row above the lanes. While one writes it stays as it is, so that the cursor stays too. */
export function drawAsk(scene, app) {
  const open = text(app) && (app.editing || !scene.first || !app.state.text.trim());
  const now = JSON.stringify([open, app.state.models, app.image?.name, !open && undoable(app)]);
  if (now !== drawn) {
    redraw(byId("ask"), row(app, open));
    drawn = now;
  } else if (open) textField(app);
  for (const each of byId("ask").querySelectorAll("[data-example]")) {
    const example = app.examples[Number(each.dataset.example)];
    each.setAttribute("aria-pressed", String(example.image ? app.image?.name === example.name
      : app.state.text === example.input));
  }
}

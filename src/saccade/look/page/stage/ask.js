// The input of the model: text that can be edited, an image, and examples to try.
import { button, byId, el, redraw } from "saccade/base/dom";
import { clip, visible } from "saccade/base/format";
import { untouched } from "saccade/state/link";
import { drawing } from "saccade/share/draw";
import { supportField } from "saccade/share/support";
import { takeFile } from "saccade/share/files";
import { record } from "saccade/share/microphone";
import { field, names, talkButtons } from "saccade/stage/fields";
import { followSeeds, seedFields } from "saccade/stage/seeds";
import { filled, holds, titleOf } from "saccade/state/input";

const SHORT = 44;

function examples(app) {
  const list = app.examples;
  if (!list.length) return null;
  return el("div", { class: "examples", role: "group", "aria-label": "Examples" }, el("span", { class: "quiet" }, "Try"),
    list.map((example, place) => {
      const attributes = { class: "example", "data-key": `example-${place}`, "data-example": place, dir: "auto" };
      const content = example.image ? el("img", { src: example.image, alt: visible(example.name), width: 44, height: 44 })
        : example.sound ? [el("span", { "aria-hidden": "true" }, "♪ "), visible(example.name)]
          : visible(clip(titleOf(example.input), SHORT));
      return button(content, () => app.showExample(example), attributes);
    }));
}

/** Open the fields and put the cursor into the first. */
export function edit(app) {
  if (!app.engine.live || !app.readsText()) return;
  app.editing = true;
  app.typing = false;
  app.draw();
  const first = field(app, names(app)[0]);
  first.focus();
  first.select();
}

const CHOOSE = { picture: ["Choose an image", "image/*", "or drop one on the page, or paste it"],
  sound: ["Choose a sound", "audio/*", "or drop one on the page"] };
let ending = null;
/** Ends the recording that is going on. */

function recordButton(app) {
  const made = button("● Record", async () => {
    made.disabled = true;
    try {
      if (ending) {
        const end = ending;
        ending = null;
        await end();
      } else ending = await record(app);
    } catch {
      app.say("The microphone could not be used. Allow it in the browser, or choose a file.");
    }
    made.disabled = false;
    made.textContent = ending ? "■ Stop recording" : "● Record";
  }, { class: "small", "data-key": "record" });
  return made;
}

function fileField(app, kind) {
  const [label, accept, hint] = CHOOSE[kind];
  const input = el("input", { type: "file", id: kind === "picture" ? "image" : kind, accept, "data-key": `${kind}-file` });
  input.addEventListener("change", () => { if (input.files.length) takeFile(input.files[0], app, kind); });
  return el("div", { class: "ask-image" }, kind === "sound" && recordButton(app),
    el("label", { class: "as-button" }, el("span", {}, label), input),
    el("span", { class: "quiet", id: "image-name", dir: "auto" }, app.image?.kind === kind ? app.image.name : hint));
}

function row(app, open) {
  if (!app.engine.live) {
    return el("p", { class: "quiet", id: "no-model" },
      "A saved answer: everything can be viewed, but nothing new can be asked. ",
      "For that, open the explorer with ", el("code", {}, "saccade serve MODEL"), ".");
  }
  return el("div", { class: "ask" },
    ["picture", "sound"].map((kind) => app.readsFiles(kind) && fileField(app, kind)),
    app.readsFiles() && draws(app) && drawing(app), app.readsFiles("episode") && supportField(app), app.reads === "seed" && seedFields(app),
    open ? names(app).map((name) => field(app, name))
      : text(app) && button([el("span", { "aria-hidden": "true" }, "✎"), " Edit the text"], () => edit(app),
        { class: "edit small", "data-key": "edit", title: "/" }),
    talkButtons(app), takesBack(app, open) && button("Undo", () => app.undo(),
      { class: "small", "data-key": "undo-text", title: "Z" }),
    examples(app));
}

/** Whether a selected model reads drawings. */
const draws = (app) => app.models.some(({ name, task }) => task === "glimpses" && app.state.models.includes(name));

/** Another text can be taken back here; a change of the answer beside what came of it. */
const takesBack = (app, open) => (!open || app.reads === "dialogue") && app.depth > 0 && !app.back && untouched(app.state);
const text = (app) => app.readsText() || !["picture", "sound", "episode", "seed"].some((kind) => app.readsFiles(kind));
let drawn = null;

/** Draw the row above the lanes. While one writes it stays as it is, so that the cursor stays too. */
export function drawAsk(scene, app) {
  const talks = app.reads === "dialogue";
  const open = app.reads !== "seed" && text(app) && (app.editing || talks || !scene.first || !filled(app.state, app.reads));
  const now = JSON.stringify([open, app.state.models, app.image?.name, takesBack(app, open)]);
  if (talks !== (byId("scene").nextElementSibling === byId("ask"))) byId("scene")[talks ? "after" : "before"](byId("ask"));
  if (now !== drawn) {
    redraw(byId("ask"), row(app, open));
    drawn = now;
  } else if (open) names(app).forEach((name) => field(app, name));
  followSeeds(app);
  for (const each of byId("ask").querySelectorAll("[data-example]")) {
    const example = app.examples[Number(each.dataset.example)];
    each.setAttribute("aria-pressed", String(example.image || example.sound ? app.image?.name === example.name
      : holds(app.state, example.input)));
  }
}

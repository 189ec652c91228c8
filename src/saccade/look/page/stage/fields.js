// The fields to write in: a text, a question and its passage, or what to say next in a dialogue.
import { button, byId, el } from "saccade/base/dom";

const KINDS = { question: ["text", "passage"], dialogue: ["turn"] };
const TASKS = { translation: "Sentence to translate", language: "Text to continue", classification: "Text to classify",
  summarization: "Text to summarize" };
const WRITE = { text: "Write a text …", passage: "Paste the passage that holds the answer …", turn: "Say something …" };

/** The names of the fields that the first selected model needs. */
export const names = (app) => KINDS[app.reads] ?? ["text"];

function labelOf(app, name) {
  if (name === "passage") return "Passage";
  if (name === "turn") return "What you say";
  return app.reads === "question" ? "Question"
    : TASKS[app.models.find((model) => model.name === app.state.models[0])?.task] ?? "Text";
}

/** Send the turn; the reply on the page becomes part of the dialogue. */
function say(app) {
  const box = made.get("turn");
  if (!box.value.trim() || !app.answer(box.value.trim())) return;
  box.value = "";
}

function close(app) {
  app.editing = false;
  app.draw();
  byId("stage").querySelector(".word, .edit")?.focus();
}

function keys(event, app, name) {
  const enter = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (name === "turn" ? !enter : event.key !== "Escape" && (!enter || name === "passage")) return;
  event.preventDefault();
  if (name === "turn") say(app);
  else close(app);
}

/** The fields stay in the page while one writes, so that no letter is lost. */
const made = new Map();

/** The field of a name, with what the state holds; a turn joins the state when it is sent. */
export function field(app, name) {
  if (!made.has(name)) {
    const fresh = el("textarea", { id: name, class: `field-${name}`, rows: name === "passage" ? 4 : 1, dir: "auto",
      spellcheck: "false", maxlength: 20000, placeholder: WRITE[name], "data-key": name });
    if (name !== "turn") fresh.addEventListener("input", () => app.type({ [name]: fresh.value }));
    fresh.addEventListener("keydown", (event) => keys(event, app, name));
    made.set(name, fresh);
  }
  const box = made.get(name);
  box.setAttribute("aria-label", labelOf(app, name));
  if (name !== "turn" && box.value !== app.state[name]) box.value = app.state[name];
  return box;
}

/** The buttons of a dialogue. */
export const talkButtons = (app) => app.reads === "dialogue" && el("span", { class: "talk-buttons" },
  button("Say it", () => say(app), { class: "main", "data-key": "say-it" }), " ",
  button("Let it go on", () => app.answer(""), { "data-key": "go-on",
    title: "Keep this reply: the model answers it itself" }), " ",
  button("New dialogue", () => app.update({ turns: [], step: 0, pick: null }, { push: true }), { "data-key": "new-dialogue" }));

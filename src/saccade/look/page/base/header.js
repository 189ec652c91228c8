// The header: models, sharing, the mode for a projector, colors and help.
import { button, byId, el, redraw } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { popup } from "saccade/base/popup";
import { openField } from "saccade/share/open";
import { savers } from "saccade/share/save";

const KEYS = [["← →", "the word before, the word after"], ["↑ ↓", "the other lane"], ["Enter", "select a word"],
  ["H", "hide or show this word; for a written word, go to what it attends to"], ["I", "say another word instead"], ["Z", "undo"], ["1 – 5", "lenses"],
  ["/", "edit the text"], ["P", "present: large, without controls"], ["Esc", "back"], ["?", "this list"]];

/** The model that answers, and the others to compare it with. */
export function drawModels(app) {
  const { models, state } = app;
  const label = (model) => visible(model.name) + (model.attention === false ? " (no attention)" : "");
  const toggle = (name) => (state.models.includes(name) ? state.models.filter((other) => other !== name)
    : [...state.models, name]);
  const [first, ...others] = state.models;
  redraw(byId("models"),
    models.length === 1 && el("span", { class: "only-model" }, label(models[0])),
    models.length > 1 && [
      el("select", { "aria-label": "Model", "data-key": "model", on: { change: (event) => app.select(
        [event.target.value, ...others.filter((name) => name !== event.target.value)]) } },
      models.map((model) => el("option", { value: model.name, selected: model.name === first }, label(model)))),
      popup("compare", others.length ? [el("span", { class: "roomy" }, "Compared with "), el("span", { class: "tight" }, "+ "),
        String(others.length)] : ["+", el("span", { class: "roomy" }, " Compare")],
        models.filter((model) => model.name !== first).map((model) => el("label", { class: "source" },
          el("input", { type: "checkbox", checked: others.includes(model.name), "data-key": `model-${model.name}`,
            on: { change: () => app.update({ models: toggle(model.name), pick: null }) } }),
          el("span", { dir: "auto" }, label(model))))),
    ]);
}

/** Enter or leave the mode for a projector. */
export function present(app, on = !document.body.classList.contains("present")) {
  document.body.classList.toggle("present", on);
  byId("leave")?.remove();
  if (on) document.body.append(button("Leave present mode (Esc)", () => present(app, false), { id: "leave", class: "small" }));
  if (on) document.documentElement.requestFullscreen?.().catch(() => {}); // larger, where the browser allows it
  else if (document.fullscreenElement) document.exitFullscreen();
  app.draw();
}

export function showHelp() {
  const box = el("dialog", { class: "help", "aria-label": "Keys" }, el("h2", {}, "Keys"),
    el("dl", {}, KEYS.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])),
    button("Close", () => box.close()));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/** Build the tools once; `theme` is the button of the colors. */
export function buildTools(app, theme) {
  const save = savers(app);
  const item = (name, act) => button(name, act, { class: "menu-item" });
  byId("tools").replaceChildren(
    popup("share", "Share", app.engine.live && item("Copy link", save.link), item("Picture (SVG)", save.svg),
      item("Picture (PNG)", save.png), item("Page (HTML)", save.html), item("Data (JSON)", save.json), openField(app)),
    button("Present", () => present(app), { title: "P" }), theme,
    button("?", showHelp, { "aria-label": "Keys and help" }));
}

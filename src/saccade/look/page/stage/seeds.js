// What to draw: the class, the seed of the noise, the way to another seed, and how far the noise goes.
import { button, el } from "saccade/base/dom";
import { percent } from "saccade/base/format";

const PACE = 40;
/** Milliseconds between requests while a slider moves. */
const MOST = 1000;
/** Seeds that are drawn by chance are below it, so that they are easy to tell others. */

/** What followSeeds writes into the fields; null while there are none. */
let shown = null;

/** A number field; empty or wrong numbers are left to be completed. */
function number(app, name, label) {
  const box = el("input", { type: "number", min: 0, max: 2 ** 31 - 1, step: 1, inputmode: "numeric", "data-key": `seed-${name}`,
    class: "seed-number", "aria-label": label });
  box.addEventListener("input", () => {
    if (box.value !== "" && box.validity.valid) app.update({ [name]: Number(box.value), pick: null }, { push: true });
  });
  return box;
}

/** A slider from 0 to 1; one movement can be undone as a whole. */
function slider(app, name, label) {
  const box = el("input", { type: "range", min: 0, max: 1, step: 0.01, "data-key": `seed-${name}`, "aria-label": label });
  let held = false;
  box.addEventListener("input", () => {
    app.update({ [name]: Number(box.value) }, { push: !held, soon: PACE, follow: true });
    held = true;
  });
  box.addEventListener("change", () => {
    held = false;
    app.update({ [name]: Number(box.value) });
  });
  return box;
}

const part = (name, ...content) => el("span", { class: "seed-part" }, el("span", { class: "quiet" }, name), content);

/** The fields of a model that draws. */
export function seedFields(app) {
  const label = el("select", { "data-key": "seed-label", "aria-label": "Class" },
    el("option", { value: "" }, "chosen by the seed"), app.classes.map((name) => el("option", { value: name }, name)));
  label.addEventListener("change", () => app.update({ label: label.value, pick: null }, { push: true }));
  const fields = { label, noise: number(app, "noise", "Seed"), toward: number(app, "toward", "The other seed"),
    share: slider(app, "share", "Share of the way to the other seed"), truncation: slider(app, "truncation", "Truncation of the noise") };
  const told = { share: el("output", { class: "seed-told" }), truncation: el("output", { class: "seed-told" }) };
  shown = { fields, told };
  followSeeds(app);
  const another = button("Another", () => app.update({ noise: Math.floor(Math.random() * MOST), share: 0, pick: null }, { push: true }),
    { class: "small", "data-key": "another-seed", title: "Draw with another seed" });
  return el("div", { class: "seeds", role: "group", "aria-label": "What to draw" },
    app.classes.length > 0 && part("Class", label), part("Seed", fields.noise, another),
    part("on the way to seed", fields.toward, fields.share, told.share),
    part("Truncation", fields.truncation, told.truncation));
}

/** Show the state in the fields, but not in the one that is being written in. */
export function followSeeds(app) {
  if (!shown) return;
  for (const [name, box] of Object.entries(shown.fields)) {
    const value = String(app.state[name]);
    if (box.value !== value && (box !== document.activeElement || box.type === "range")) box.value = value;
  }
  shown.told.share.textContent = percent(app.state.share);
  shown.told.truncation.textContent = app.state.truncation.toFixed(2);
}

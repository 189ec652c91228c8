// Notices: a toast that goes by itself, and a banner that stays while something is wrong.
import { button, byId, el } from "saccade/base/dom";
import { visible } from "saccade/base/format";

const STAYS = 9000;
const MOST = 4;

/** Show a sentence at the bottom of the page; it can be dismissed. */
export function say(sentence) {
  const notice = el("p", {}, visible(sentence),
    button("×", () => notice.remove(), { class: "plain", "aria-label": "Put away" }));
  byId("toast").append(notice);
  while (byId("toast").children.length > MOST) byId("toast").firstChild.remove();
  setTimeout(() => notice.remove(), STAYS);
}

/** Show what is wrong, with what can be done about it; the answer stays on the page. */
export function drawBanner(scene, app) {
  const faults = scene.answers.filter((answer) => answer.fault);
  const box = byId("banner");
  const text = faults.map((answer) => `${answer.label}: ${answer.fault.sentence}`).join("\n");
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  box.replaceChildren(...faults.map(({ label, fault }) => el("div", { class: "fault" },
    el("p", {}, scene.answers.length > 1 && el("b", {}, `${visible(label)}: `), visible(fault.sentence),
      fault.away && " The page tries again by itself."),
    el("span", {}, app.depth > 0 && button("Undo", () => app.undo(), { class: "small" }), " ",
      button("Try again", () => app.retry(), { class: "small" })))));
}

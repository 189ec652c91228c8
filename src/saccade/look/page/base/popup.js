// A box that opens below its button.
import { el } from "saccade/base/dom";

/** A box that opens below its button and closes with Escape or a click elsewhere. */
export function popup(key, label, ...content) {
  const box = el("details", { class: "popup" }, el("summary", { "data-key": key }, label),
    el("div", { class: "popup-box" }, content));
  const close = (event) => {
    if (box.open && (event.key === "Escape" || (event.type === "pointerdown" && !box.contains(event.target)))) {
      if (event.key === "Escape") box.querySelector("summary").focus();
      box.open = false;
    }
  };
  box.addEventListener("toggle", () => {
    const change = box.open ? "addEventListener" : "removeEventListener";
    for (const kind of ["keydown", "pointerdown"]) document[change](kind, close);
  });
  return box;
}

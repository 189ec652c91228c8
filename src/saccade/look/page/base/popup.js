// Boxes that open below their buttons.
import { el } from "saccade/base/dom";

/** Let a details element close with Escape, which does nothing else then, or with a click elsewhere. */
export function closing(box) {
  const close = (event) => {
    const escape = event.key === "Escape" && box.isConnected;
    if (box.open && (escape || (event.type === "pointerdown" && !box.contains(event.target)))) {
      if (escape) {
        event.preventDefault();
        box.querySelector("summary").focus();
      }
      box.open = false;
    }
  };
  box.addEventListener("toggle", () => {
    const change = box.open ? "addEventListener" : "removeEventListener";
    for (const kind of ["keydown", "pointerdown"]) document[change](kind, close, true);
  });
  return box;
}

/** A box that opens below its button and closes with Escape or a click elsewhere. */
export const popup = (key, label, ...content) => closing(el("details", { class: "popup" },
  el("summary", { "data-key": key }, label), el("div", { class: "popup-box" }, content)));

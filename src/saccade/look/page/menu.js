// A small dialog beside the clicked element. Escape, a click elsewhere or a choice closes it and restores the focus.
import { button, el } from "saccade/dom";

let open = null;

export function closeMenu() {
  if (!open) return;
  const { box, back, stop } = open;
  open = null;
  stop.abort();
  const inside = box.contains(document.activeElement);
  box.remove();
  const key = back?.dataset?.key; // a new output may have redrawn the page meanwhile
  const there = back?.isConnected ? back : key && document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (inside) there?.focus?.({ preventScroll: true });
}

function place(box, anchor) {
  const { left, bottom, top } = anchor.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const below = bottom + 6 + height <= innerHeight || top - height - 6 < 8;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, below ? Math.min(bottom + 6, innerHeight - height - 8) : top - height - 6)}px`;
}

/** Open the dialog; `anchor` is an element or an object with getBoundingClientRect. */
export function openMenu(anchor, title, ...content) {
  closeMenu();
  const stop = new AbortController();
  const box = el("div", { class: "menu", role: "dialog", "aria-label": title, tabindex: -1 },
    el("div", { class: "menu-head" }, el("b", { dir: "auto" }, title),
      button("×", closeMenu, { class: "plain", "aria-label": "Close" })), content);
  document.body.append(box);
  open = { box, back: anchor instanceof Element ? anchor : document.activeElement, stop };
  place(box, anchor);
  const { signal } = stop;
  document.addEventListener("pointerdown", (event) => { if (!box.contains(event.target)) closeMenu(); },
    { signal, capture: true });
  document.addEventListener("keydown",
    (event) => { if (event.key === "Escape") { event.preventDefault(); closeMenu(); } }, { signal });
  window.addEventListener("resize", closeMenu, { signal });
  for (const away of ["wheel", "touchmove"]) {
    document.addEventListener(away, (event) => { if (!box.contains(event.target)) closeMenu(); },
      { signal, passive: true });
  }
  box.addEventListener("keydown", (event) => { // focus trap: Tab stays inside the open dialog
    if (event.key !== "Tab") return;
    const stops = [...box.querySelectorAll("button:not(:disabled), input:not(:disabled)")];
    const last = event.shiftKey ? stops[0] : stops.at(-1);
    if (document.activeElement !== last) return;
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0]).focus();
  });
  (box.querySelector("button:not(.plain):not(:disabled), input:not(:disabled)") ?? box).focus({ preventScroll: true });
}

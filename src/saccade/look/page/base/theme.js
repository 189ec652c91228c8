// Light or dark theme: the system's, until the user changes it.
import { button } from "saccade/base/dom";

const KEY = "saccade-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be forbidden
  }
}

const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

/** A button that changes between light and dark; `redraw` is called when colors change, to repaint canvases. */
export function themeButton(redraw) {
  const kept = remembered();
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  const toggle = button("◐", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, document.documentElement.dataset.theme);
    } catch { /* then the choice lasts until the page is closed */ }
    show();
    redraw();
  }, { id: "theme" });
  const show = () => {
    const to = isDark() ? "Light colors" : "Dark colors";
    toggle.setAttribute("aria-label", to);
    toggle.title = to;
  };
  system.addEventListener("change", () => { show(); redraw(); });
  show();
  return toggle;
}

/** A color of the style sheet as [red, green, blue]. */
export function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
}

export const inkOf = () => colour("--ink");

const HEADS = 8;
/** The class that gives a head its color; the colors repeat after eight. */
export const headClass = (head) => `head-${head % HEADS}`;

// Keys of the page: words, lanes, lenses and what can be done with a word.
import { present, showHelp } from "saccade/base/header";
import { find, findAll } from "saccade/base/dom";
import { edit } from "saccade/stage/ask";
import { LENSES } from "saccade/state/link";

/** Move the focus between lanes: to the word of the other lane with the strongest link. */
function otherLane(page, key) {
  const chip = document.activeElement?.closest?.(".word");
  if (!chip) return false;
  const lanes = findAll(".lane[data-lane]");
  const to = lanes[lanes.indexOf(chip.closest(".lane")) + (key === "ArrowDown" ? 1 : -1)];
  if (!to) return true;
  const words = findAll(".word", to);
  const looks = words.map((word) => Number(word.style.getPropertyValue("--look") || 0));
  const best = looks.indexOf(Math.max(...looks));
  (words[best] ?? words[0])?.focus();
  return true;
}

/** Select the word with the focus, so that the inspector can act on it. */
function pickFocused() {
  if (document.activeElement?.matches('.word[aria-pressed="false"]')) find(":focus").click();
}

const ACTS = {
  "/": (page) => edit(page.app), p: (page) => present(page.app), "?": () => showHelp(), z: (page) => page.app.undo(),
  h: () => {
    pickFocused();
    const own = find('#inspector [data-key="hide"]');
    if (own) own.click();
    else find("#inspector .hide")?.focus();
  },
  i: () => { pickFocused(); find("#instead button:not(:disabled)")?.focus(); },
  Escape: (page) => {
    if (document.body.classList.contains("present")) present(page.app, false);
    else if (page.app.state.pick) page.app.update({ pick: null });
  },
};

/** Let the page answer to keys. */
export function startKeys(page) {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const target = /** @type {any} */ (event.target);
    if (target.closest?.("textarea, select, input:not([type=range], [type=checkbox]), dialog")) return;
    const arrow = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (arrow && page.app.state.lens === "step" && !target.closest?.("input, .scroll, [data-arrows]")) {
      event.preventDefault();
      page.go(page.app.state.step + arrow);
    } else if (["ArrowDown", "ArrowUp"].includes(event.key)) {
      if (otherLane(page, event.key)) event.preventDefault();
    } else if (LENSES[Number(event.key) - 1]) page.app.update({ lens: LENSES[Number(event.key) - 1] });
    else if (ACTS[event.key.length === 1 ? event.key.toLowerCase() : event.key]) {
      if (event.key !== "Escape") event.preventDefault();
      ACTS[event.key.length === 1 ? event.key.toLowerCase() : event.key](page);
    }
  });
}

// The size of the words of the stage: as large as fits into one line.
import { find, findAll } from "saccade/base/dom";

const SIZES = { page: [17, 40], present: [26, 64] };
/** Pixels of a word's letters, least and most. */
const [GAP, WIDEST] = [6, 30];
/** Pixels between words, and most pixels between those of a short sentence. */

/**
 * Choose the size of the words, so that the longest lane fits into one line; lanes that cannot keep the size of the style
 * sheet and wrap. What is measured is what is drawn, with the signs of changed words. `limit`: they get no larger than that.
 * Returns the size, or null if the lanes wrap.
 */
export function fit(box, present, limit = Infinity) {
  const room = find(".words", box)?.clientWidth;
  const lanes = findAll(".lane:not(.was) .words", box);
  for (const name of ["--word", "--gap"]) box.style.removeProperty(name);
  if (!room) return null;
  const [least, largest] = SIZES[present ? "present" : "page"];
  const most = Math.min(largest, limit);
  const sum = (words) => [...words.children].reduce((total, word) => total + word.offsetWidth, 0);
  const widthAt = (size) => {
    box.style.setProperty("--word", `${size.toFixed(1)}px`);
    return Math.max(...lanes.map((words) => sum(words) + GAP * words.children.length));
  };
  box.classList.add("measuring"); // words do not wrap
  const widest = widthAt(most);
  let size = most;
  if (widest <= room) {
    const spare = lanes.map((words) => (room - sum(words)) / Math.max(1, words.children.length - 1) - 1);
    box.style.setProperty("--gap", `${Math.max(GAP, Math.min(WIDEST, ...spare)).toFixed(1)}px`);
  } else {
    const narrow = widthAt(least);
    size = least + ((room - narrow) * (most - least)) / Math.max(1, widest - narrow);
    while (size >= least && widthAt(size) > room) size -= 0.4;
    if (size < least) box.style.removeProperty("--word");
  }
  box.classList.remove("measuring");
  return size < least ? null : size;
}

let kept = { key: null, high: 0, size: Infinity };

/**
 * Keep the size of the words as it was after a change of the same input (`key`), and the height of the lanes while they are
 * `held`, so that nothing moves when the change is taken back. `fitted(limit)` chooses the size.
 */
export function keepRoom(box, key, held, fitted) {
  if (kept.key !== key) kept = { key, high: 0, size: Infinity };
  if (!held) kept.high = 0;
  box.style.removeProperty("min-height");
  const size = fitted?.(kept.size) ?? null;
  if (size !== null) kept.size = Math.min(kept.size, size);
  kept.high = Math.max(kept.high, box.offsetHeight);
  box.style.setProperty("min-height", `${kept.high}px`);
}

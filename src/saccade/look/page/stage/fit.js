// The size of the words of the stage: as large as fits into one line.
import { find, findAll } from "saccade/base/dom";

const SIZES = { page: [17, 40], present: [26, 64] };
/** Pixels of a word's letters, least and most. */
const WIDEST = 30;
/** Most pixels between the words of a short sentence. */

/**
 * Choose the size of the words, so that the longest lane fits into one line; lanes that cannot keep the size of the style
 * sheet and wrap. What is measured is what is drawn, with the signs of changed words.
 */
export function fit(box, present) {
  const room = find(".words", box)?.clientWidth;
  const lanes = findAll(".lane:not(.was) .words", box);
  for (const name of ["--word", "--gap"]) box.style.removeProperty(name);
  if (!room) return;
  const [least, most] = SIZES[present ? "present" : "page"];
  const widthAt = (size) => {
    box.style.setProperty("--word", `${size.toFixed(1)}px`);
    return Math.max(...lanes.map((words) => words.scrollWidth));
  };
  box.classList.add("measuring"); // words do not wrap
  const widest = widthAt(most);
  if (widest <= room) {
    const count = Math.max(2, ...lanes.map((words) => words.children.length));
    const used = Math.max(...lanes.map((words) => [...words.children].reduce((sum, word) => sum + word.offsetWidth, 0)));
    box.style.setProperty("--gap", `${Math.max(6, Math.min(WIDEST, (room - used) / (count - 1) - 1)).toFixed(1)}px`);
  } else {
    const narrow = widthAt(least);
    let size = least + ((room - narrow) * (most - least)) / Math.max(1, widest - narrow);
    while (size >= least && widthAt(size) > room) size -= 0.4;
    if (size < least) box.style.removeProperty("--word");
  }
  box.classList.remove("measuring");
}

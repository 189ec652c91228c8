// A lane of a dialogue: a bubble for each turn, tinted by the attention that its words get together.
import { el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { Follower, listen, running, shade } from "saccade/lanes/running";

const following = new Follower();
let counted = 0;
/** Turns when the lane was drawn before: with others, it shows the newest. */

/** A lane of bubbles; see lanes/table.js. The model answers the last turn, and every other one before it. */
export function turnsLane({ key, label, side, words, unit, picked, look, point, leave, pick, light, answer }) {
  const count = Math.max(0, ...side.turn_of.filter((_, place) => side.word_of[place] < side.words.length)) + 1;
  const yours = (turn) => (count - turn) % 2 === 1;
  const turnOf = ({ places }) => side.turn_of[places[0]];
  // a mark begins each turn, and stands for its speaker
  const nameOf = (entry) => (entry.mark && turnOf(entry) < count
    ? yours(turnOf(entry)) ? "You" : "Model" : visible(entry.name));
  const { chips, parts } = running(side, { key, words, unit, picked, look, nameOf });
  const columns = Array.from({ length: count }, (_, turn) => words.flatMap((word, place) =>
    (turnOf(word) === turn ? [place] : [])));
  const shares = columns.map(() => el("span", { class: "turn-share number", "aria-hidden": "true" }));
  const bubbles = columns.map((_, turn) => el("div", { class: yours(turn) ? "turn yours-said" : "turn theirs", dir: "auto" },
  parts.filter(({ entry }) => turnOf(entry) === turn).flatMap(({ entry, shown }) => {
    if (entry.mark) shown.classList.add("speaker");
    return [shown, " "];
  }), shares[turn]));
  const loose = parts.filter(({ entry }) => turnOf(entry) >= count).map(({ shown }) => shown);
  const text = el("div", { class: "turns", role: "group", "aria-label": label, "data-scroll": `turns-${key}` }, bubbles,
    loose.length > 0 && el("div", { class: "turn loose" }, loose));
  listen(text, { point, leave, pick });
  return {
    element: el("div", { class: "lane running", "data-lane": key }, el("span", { class: "lane-name" }, label), text),
    layout: "talk", sized: true,
    light: (weights, pointed) => {
      shade(chips, weights, pointed);
      columns.forEach((places, turn) => {
        const mass = weights ? places.reduce((sum, place) => sum + weights[place], 0) : 0;
        bubbles[turn].style.setProperty("--mass", Math.min(1, mass).toFixed(3));
        shares[turn].textContent = weights && mass >= 0.005 ? percent(mass) : "";
      });
    },
    settle: () => {
      if (counted !== count) text.scrollTop = text.scrollHeight;
      counted = count;
      following.settle(text, chips, { light, figure: answer.figure });
    },
  };
}

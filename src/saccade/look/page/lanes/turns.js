// A lane of a dialogue: a bubble for each turn, tinted by the attention that its words get together.
import { el } from "saccade/base/dom";
import { percent, visible } from "saccade/base/format";
import { Follower, listen, running, shade } from "saccade/lanes/running";

const following = new Follower();
const SPEAKERS = ["You", "Model"];

/** The one who says a turn; `dropped` older turns are not in the trace. */
export const speakerOf = (turn, dropped = 0) => SPEAKERS[(turn + dropped) % 2];

/** A lane of bubbles; see lanes/table.js. `dropped`: turns of the dialogue that the model did not read. */
export function turnsLane({ key, label, side, words, unit, picked, look, point, leave, pick, light, answer, dropped = 0 }) {
  const count = Math.max(0, ...side.turn_of.filter((_, place) => side.word_of[place] < side.words.length)) + 1;
  const turnOf = ({ places }) => side.turn_of[places[0]];
  // a mark begins each turn, and stands for its speaker
  const nameOf = (entry) => (entry.mark && turnOf(entry) < count ? speakerOf(turnOf(entry), dropped) : visible(entry.name));
  const { chips, parts } = running(side, { key, words, unit, picked, look, nameOf });
  const columns = Array.from({ length: count }, (_, turn) => words.flatMap((word, place) =>
    (turnOf(word) === turn ? [place] : [])));
  const shares = columns.map(() => el("span", { class: "turn-share number", "aria-hidden": "true" }));
  const bubbles = columns.map((_, turn) => el("li", {
    class: `turn ${speakerOf(turn, dropped) === SPEAKERS[0] ? "yours-said" : "theirs"}`, dir: "auto" },
  parts.filter(({ entry }) => turnOf(entry) === turn).flatMap(({ entry, shown }) => {
    if (entry.mark) shown.classList.add("speaker");
    return [shown, " "];
  }), shares[turn]));
  const loose = parts.filter(({ entry }) => turnOf(entry) >= count).map(({ shown }) => shown);
  const text = el("ol", { class: "turns", role: "group", "aria-label": label, "data-scroll": `turns-${key}` }, bubbles,
    loose.length > 0 && el("li", { class: "turn loose" }, loose));
  listen(text, { point, leave, pick });
  return {
    element: el("div", { class: "lane running", "data-lane": key }, el("span", { class: "lane-name" }, label), text),
    layout: "talk",
    light: (weights, pointed) => {
      shade(chips, weights, pointed);
      columns.forEach((places, turn) => {
        const mass = weights ? places.reduce((sum, place) => sum + weights[place], 0) : 0;
        bubbles[turn].style.setProperty("--mass", Math.min(1, mass).toFixed(3));
        shares[turn].textContent = weights && mass >= 0.005 ? percent(mass) : "";
      });
    },
    settle: () => {
      if (light.home.row === null && text.scrollTop === 0) text.scrollTop = text.scrollHeight;
      following.settle(text, chips, { light, figure: answer.figure });
    },
  };
}

// The kinds of lanes, and which of them shows a side of a trace.
import { glimpseLane } from "saccade/lanes/glimpses";
import { imageLane } from "saccade/lanes/image";
import { passageLane } from "saccade/lanes/passage";
import { imageView } from "saccade/lanes/tiles";
import { soundLane } from "saccade/lanes/sound";
import { textLane } from "saccade/lanes/text";
import { turnsLane } from "saccade/lanes/turns";
import { isImage, isSound } from "saccade/trace/fold";

const LONG = 30;
/** Words of a source; a longer one is a passage. */

/**
 * A lane. `line`: the words that should fit into one line. `alone`: it shows rows and columns at once.
 *
 * `joined`: ribbons may end at `rectOf(place)`. `layout`: a class of the box around all lanes. `sized`: its words have
 * the size of a text, not of a line. `faint`: single weights are small and have to be divided by their maximum.
 * `settle`: called when it is on the page, and again after a change of size.
 * @typedef {{element: HTMLElement, line: object[], alone: boolean,
 *   light: (weights: any, pointed: any, row?: any, figure?: any) => void, rectOf?: (place: number) => DOMRect,
 *   joined?: boolean, layout?: string, sized?: boolean, faint?: boolean, reveal?: (place: number) => void,
 *   settle?: () => void}} Lane
 */

/**
 * The kinds, the first that fits counts. `alone`: the lane shows rows and columns at once if a side attends to itself.
 * @type {{fits: (spec: any) => boolean, make: (spec: any) => any, alone: boolean}[]}
 */
const KINDS = [
  { fits: ({ answer, rows }) => answer.figure.side !== null && Boolean(answer.trace.glimpses) && !rows, make: glimpseLane, alone: false },
  { fits: ({ answer, rows }) => answer.figure.side !== null && !rows, make: imageLane, alone: true },
  { fits: ({ side, rows }) => side !== undefined && isSound(side) && !rows, make: soundLane, alone: false },
  { fits: ({ side }) => Boolean(side?.turn_of), make: turnsLane, alone: true },
  { fits: ({ side, name, answer }) => name === "source" && side !== undefined
    && (answer.trace.sides.has("question") || side.words.length > LONG), make: passageLane, alone: true },
  { fits: () => true, make: textLane, alone: false },
];

/**
 * The lane of the rows or the columns of an answer's figure.
 *
 * `spec`: {key, label, name (of the side), words (rows or columns), rows (whether they are rows), unit, picked, look,
 * pick(place), note, answer, light, app}. The lane gets `point(place)` and `leave()` too, and the side as `side`.
 *
 * @returns {Lane}
 */
export function laneOf(spec) {
  const { answer, light, rows } = spec;
  const full = { ...spec, side: answer.trace.sides.get(spec.name) };
  const kind = KINDS.find(({ fits }) => fits(full));
  const alone = kind.alone && answer.figure.own;
  const point = (place) => light.set(...(rows || alone ? [place, null] : [null, place]), answer.of);
  return { line: [], ...kind.make({ ...full, point, leave: () => light.clear(), alone }), alone };
}

/**
 * What lenses need of a side. `part`: what its places are called. `most`: parts that are listed, strongest first. `least`: the
 * least weight of a listed part, undefined for the usual one. `lines(figure, {light, open})` draws the words lens, and
 * `thumbnail(trace, site, options, light)` a head, if the side has drawings of its own.
 * @typedef {{part: string, most: number, least: number | undefined, lines: any, thumbnail: any}} View
 */

/** @type {View} */
const WORDS = { part: "word", most: Infinity, least: undefined, lines: null, thumbnail: null };

/** Moments of a sound. */
const MOMENTS = { ...WORDS, part: "moment", most: 12, least: 0.02 };

/** The view of a side, or that of words if there is none. @type {(side: any) => View} */
export function viewOf(side) {
  if (side?.kind === "frames") return MOMENTS;
  if (side?.kind !== "grid") return WORDS;
  return isImage(side) ? imageView : { ...imageView, lines: null, thumbnail: null };
}

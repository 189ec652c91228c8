// What models read: a text, a question on a passage, the turns of a dialogue, or a seed; each is some fields of the state.

/** For each kind of input, the fields of the state and the input made of them. A text is the kind for all others. */
const KINDS = {
  question: { fields: ["text", "passage"], read: ({ text, passage }) => ({ question: text, passage }) },
  dialogue: { fields: ["turns"], read: ({ turns }) => ({ turns }) },
  seed: { fields: [], read: ({ noise, label, toward, share, truncation }) => ({ seed: noise, ...(label && { class: label }),
    ...(share > 0 && { toward, share }), ...(truncation < 1 && { truncation }) }) },
  text: { fields: ["text"], read: ({ text }) => text },
};
const kindOf = (kind) => KINDS[kind] ?? KINDS.text;

/** What a request calls the file that a model of this kind reads. */
export const FILES = { picture: "image", sound: "sound", episode: "input" };

/** The seed that the way leads to, until another one is chosen. */
export const START_WAY = 2;

/** The input of a request. */
export const inputOf = (state, kind) => kindOf(kind).read(state);

/** Whether everything is there that a model of this kind needs. */
export const filled = (state, kind) => kindOf(kind).fields.every((name) => (typeof state[name] === "string"
  ? state[name].trim() !== "" : state[name].length > 0));

/** The fields of the state that an example sets. */
export function fieldsOf(input) {
  if (typeof input === "string") return { text: input };
  if (Array.isArray(input.turns)) return { turns: input.turns };
  if (Number.isInteger(input.seed)) {
    const { seed: noise, class: label, toward, share, truncation } = input;
    return { noise, label: label ?? "", toward: toward ?? START_WAY, share: share ?? 0, truncation: truncation ?? 1 };
  }
  return { text: input.question ?? "", passage: input.passage ?? "" };
}

/** What an example is called in a list. */
export const titleOf = (input) => (typeof input === "string" ? input : input.turns?.at(-1) ?? input.question
  ?? [`seed ${input.seed}`, input.class].filter(Boolean).join(", "));

/** Whether the state holds this example. */
export const holds = (state, input) => Object.entries(fieldsOf(input)).every(([name, value]) =>
  JSON.stringify(state[name]) === JSON.stringify(value));

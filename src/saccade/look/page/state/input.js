// What models read: a text, a question on a passage, or the turns of a dialogue; each is some fields of the state.

/** For each kind of input, the fields of the state and the input made of them. A text is the kind for all others. */
const KINDS = {
  question: { fields: ["text", "passage"], read: ({ text, passage }) => ({ question: text, passage }) },
  dialogue: { fields: ["turns"], read: ({ turns }) => ({ turns }) },
  text: { fields: ["text"], read: ({ text }) => text },
};
const kindOf = (kind) => KINDS[kind] ?? KINDS.text;

/** What a request calls the file that a model of this kind reads. */
export const FILES = { picture: "image", sound: "sound", episode: "input" };

/** The input of a request. */
export const inputOf = (state, kind) => kindOf(kind).read(state);

/** Whether everything is there that a model of this kind needs. */
export const filled = (state, kind) => kindOf(kind).fields.every((name) => (typeof state[name] === "string"
  ? state[name].trim() !== "" : state[name].length > 0));

/** The fields of the state that an example sets. */
export function fieldsOf(input) {
  if (typeof input === "string") return { text: input };
  if (Array.isArray(input.turns)) return { turns: input.turns };
  return { text: input.question ?? "", passage: input.passage ?? "" };
}

/** What an example is called in a list. */
export const titleOf = (input) => (typeof input === "string" ? input : input.turns?.at(-1) ?? input.question ?? "");

/** Whether the state holds this example. */
export const holds = (state, input) => Object.entries(fieldsOf(input)).every(([name, value]) =>
  JSON.stringify(state[name]) === JSON.stringify(value));

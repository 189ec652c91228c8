// Input images and sounds: chosen, dropped on the page, or pasted. They are sent only to this page's server.
import { visible } from "saccade/base/format";

const LARGEST = 32e6;
let count = 0;

const KINDS = {
  picture: { type: "image/", what: "an image", reads: "images", smaller: "Save it smaller; models read a few hundred pixels." },
  sound: { type: "audio/", what: "a sound", reads: "sounds", smaller: "Cut it into parts." },
};

/** The kind of input that a file is, or null. */
export const kindOf = (file) => Object.keys(KINDS).find((kind) => file.type.startsWith(KINDS[kind].type)) ?? null;

/** The content of a file in base64. @returns {Promise<string>} */
export function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/** Use a file as the input, unless it cannot be sent; the server checks what it is. */
export async function takeFile(file, app, kind = kindOf(file) ?? "picture") {
  const name = visible(file.name || `the ${kind === "sound" ? "sound" : "image"}`);
  const { what, reads, smaller } = KINDS[kind];
  if (!app.models.some((model) => model.input === kind)) {
    const reason = app.engine.live ? `no model here reads ${reads}` : "this page was saved without a model";
    app.say(`${name} is ${what}, but ${reason}.`);
    return;
  }
  if (file.size > LARGEST) {
    app.say(`${name} has more than 32 MB, the most that is sent. ${smaller}`);
    return;
  }
  try {
    const base64 = await read(file);
    if (!base64) throw new Error("nothing was read");
    count += 1;
    app.setFile({ id: count, name, base64, kind });
  } catch {
    app.say(`${name} could not be read, or is empty. Choose it again.`);
  }
}

/** Take files that are pasted. */
export function startPasting(app) {
  document.addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find((each) => kindOf(each) && app.readsFiles(kindOf(each)));
    if (!file) return;
    event.preventDefault();
    takeFile(file, app);
  });
}

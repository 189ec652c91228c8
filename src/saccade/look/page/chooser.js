// Input images: chosen, dropped on the page, or pasted. They are sent only to this page's server.
import { byId, el } from "saccade/dom";
import { visible } from "saccade/words";

const LARGEST = 32e6;
let count = 0;

export const isPictureFile = (file) => file.type.startsWith("image/");

/** True if one of the named models takes an image as input. */
export const looksAtPictures = (models, names) =>
  models.some((model) => model.input === "picture" && names.includes(model.name));

/** True if one of the named models takes text, which is the default input. */
export const readsText = (models, names) =>
  !names.length || models.some((model) => model.input !== "picture" && names.includes(model.name));

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/** Use a file as the input image, unless it cannot be sent; the server checks that it is an image. */
export async function takePicture(file, app) {
  const name = visible(file.name || "the picture");
  if (!app.models.some((model) => model.input === "picture")) {
    app.say(`${name} is a picture, but ${app.models.length ? "no model here looks at pictures"
      : "this page was saved without a model"}.`);
    return;
  }
  if (file.size > LARGEST) {
    app.say(`${name} has more than 32 MB, the most that is sent. Save it smaller; models look at a few hundred pixels.`);
    return;
  }
  try {
    const base64 = await read(file);
    if (!base64) throw new Error("nothing was read");
    count += 1;
    app.setPicture({ id: count, name, base64 });
  } catch {
    app.say(`${name} could not be read, or is empty. Choose it again.`);
  }
}

/** Show the input fields that the selected models need, and the name of the chosen image. */
export function showChooser(app) {
  const { models, state, picture } = app;
  const wanted = looksAtPictures(models, state.models);
  byId("picture-field").hidden = !wanted;
  byId("text-field").hidden = wanted && !readsText(models, state.models);
  byId("picture-name").replaceChildren(picture ? el("b", { dir: "auto" }, picture.name)
    : "or drop one on the page, or paste it");
}

export function startChoosing(app) {
  const input = byId("picture");
  input.addEventListener("change", async () => {
    if (input.files.length) await takePicture(input.files[0], app);
    input.value = ""; // so that the same file can be chosen again
  });
  document.addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find(isPictureFile);
    if (!file || !looksAtPictures(app.models, app.state.models)) return;
    event.preventDefault();
    takePicture(file, app);
  });
}

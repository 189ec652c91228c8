// Input images: chosen, dropped on the page, or pasted. They are sent only to this page's server.
import { visible } from "saccade/base/format";

const LARGEST = 32e6;
let count = 0;

export const isImageFile = (file) => file.type.startsWith("image/");

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/** Use a file as the input image, unless it cannot be sent; the server checks that it is an image. */
export async function takeImage(file, app) {
  const name = visible(file.name || "the image");
  if (!app.models.some((model) => model.input === "picture")) {
    const reason = app.engine.live ? "no model here reads images" : "this page was saved without a model";
    app.say(`${name} is an image, but ${reason}.`);
    return;
  }
  if (file.size > LARGEST) {
    app.say(`${name} has more than 32 MB, the most that is sent. Save it smaller; models read a few hundred pixels.`);
    return;
  }
  try {
    const base64 = await read(file);
    if (!base64) throw new Error("nothing was read");
    count += 1;
    app.setImage({ id: count, name, base64 });
  } catch {
    app.say(`${name} could not be read, or is empty. Choose it again.`);
  }
}

/** Take images that are pasted. */
export function startImages(app) {
  document.addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find(isImageFile);
    if (!file || !app.readsImages()) return;
    event.preventDefault();
    takeImage(file, app);
  });
}

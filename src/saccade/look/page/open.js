// Opening of trace files, chosen or dropped on the page; dropped images become the input image.
import { isPictureFile, takePicture } from "saccade/chooser";
import { byId } from "saccade/dom";
import { openTrace } from "saccade/trace";
import { clip, visible } from "saccade/words";

const LARGEST = 1 << 27;

/** The label of a trace in lists. */
export const labelOf = (trace) =>
  `${visible(trace.model.name)}: ${clip(visible(trace.sides.get("source")?.text ?? trace.text), 48)}`;

async function take(files, app) {
  for (const file of files) {
    const name = visible(file.name);
    if (isPictureFile(file)) {
      await takePicture(file, app);
      continue;
    }
    if (file.size > LARGEST) {
      app.say(`${name} is larger than this page can hold.`);
      continue;
    }
    try {
      const trace = await openTrace(await file.text(), name);
      app.add({ label: labelOf(trace), trace });
    } catch (error) {
      app.say(visible(error.message));
    }
  }
}

export function startOpening(app) {
  const input = byId("open");
  input.addEventListener("change", async () => {
    await take([...input.files], app);
    input.value = "";
  });
  const holds = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    take([...event.dataTransfer.files], app);
  });
}

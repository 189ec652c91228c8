// Opening of trace files, chosen or dropped on the page; dropped images and sounds become the input.
import { kindOf, takeFile } from "saccade/share/files";
import { el } from "saccade/base/dom";
import { openTrace } from "saccade/trace/open";
import { clip, visible } from "saccade/base/format";

const LARGEST = 1 << 27;

/** The label of a trace in lists. */
export const labelOf = (trace) =>
  `${visible(trace.model.name)}: ${clip(visible(trace.sides.get("source")?.text ?? trace.text), 48)}`;

async function take(files, app) {
  for (const file of files) {
    const name = visible(file.name);
    if (kindOf(file)) {
      await takeFile(file, app);
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

/** A field that opens trace files. */
export function openField(app) {
  const input = el("input", { type: "file", id: "open", accept: ".json,application/json", multiple: true,
    "data-key": "open", on: { change: async () => {
      await take([...input.files], app);
      input.value = "";
    } } });
  return el("label", { class: "as-button" }, el("span", {}, "Open a trace …"), input);
}

/** Take files that are dropped on the page. */
export function startDropping(app) {
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

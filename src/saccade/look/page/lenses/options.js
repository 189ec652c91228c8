// The fields of the search options. An invalid value is marked and not sent.
import { el } from "saccade/base/dom";
import { OPTIONS, readOption } from "saccade/state/link";

const PATIENCE = 250;
let fields = null;
/** The fields stay while the page is drawn anew, so that no digit is lost while one types. */

function field(app, name, option) {
  const flag = option.kind === "flag";
  const input = el("input", { type: flag ? "checkbox" : "number", name, min: option.least, max: option.most,
    placeholder: flag ? null : "default", step: option.kind === "number" ? "any" : 1, "data-option": name,
    "data-key": `option-${name}` });
  input.addEventListener(flag ? "change" : "input", () => {
    try {
      const value = readOption(name, flag ? String(input.checked) : input.value);
      const { [name]: _, ...others } = app.state.options;
      input.removeAttribute("aria-invalid");
      app.update({ options: value === null ? others : { ...others, [name]: value } }, { soon: PATIENCE });
    } catch (error) {
      input.setAttribute("aria-invalid", "true");
      app.say(`${error.message}: it must be from ${option.least} to ${option.most}.`);
    }
  });
  return el("label", { class: flag ? "choice flag" : "choice" }, el("span", {}, option.label), input);
}

/** The fields, set from the state, except the one with the focus. */
export function optionFields(app) {
  fields ??= el("fieldset", { id: "options" }, el("legend", {}, "Search"),
    Object.entries(OPTIONS).map(([name, option]) => field(app, name, option)));
  for (const input of fields.querySelectorAll("[data-option]")) {
    if (input === document.activeElement) continue;
    const value = app.state.options[input.dataset.option];
    if (input.type === "checkbox") input.checked = value === true;
    else input.value = value ?? "";
  }
  return fields;
}

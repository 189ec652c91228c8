// Start of the page: with a server and its models, or with the traces saved in the page.
import { App } from "saccade/app";
import { startChoosing } from "saccade/chooser";
import { buildOptions } from "saccade/controls";
import { button, byId, el } from "saccade/dom";
import { labelOf, startOpening } from "saccade/open";
import { startSaving } from "saccade/save";
import { models as askModels, setToken } from "saccade/server";
import { NO_INTERFERENCE } from "saccade/state";
import { startTheme } from "saccade/theme";
import { openTrace } from "saccade/trace";
import { visible } from "saccade/words";

const saved = document.documentElement.dataset.mode === "saved";

/** Show a notice, which can be dismissed. */
function say(sentence) {
  const notice = el("p", {}, visible(sentence),
    button("×", () => notice.remove(), { class: "plain", "aria-label": "Put away" }));
  byId("notices").append(notice);
  while (byId("notices").children.length > 4) byId("notices").firstChild.remove();
}

async function inside() {
  const found = [];
  for (const [place, part] of [...document.querySelectorAll("script.trace")].entries()) {
    try {
      const trace = await openTrace(part.textContent, `Trace ${place + 1} of this page`);
      found.push({ label: labelOf(trace), trace });
    } catch (error) {
      say(error.message);
    }
  }
  return found;
}

/** Fetch the list of models; if the server requires a token, ask for it first. */
async function outside() {
  try {
    return await askModels();
  } catch (error) {
    if (error.status !== 401) {
      say(error.message);
      return [];
    }
  }
  const form = byId("token-form");
  form.hidden = false;
  byId("token").focus();
  await new Promise((resolve) => {
    form.addEventListener("submit", (event) => { event.preventDefault(); resolve(); }, { once: true });
  });
  form.hidden = true;
  setToken(byId("token").value);
  return outside();
}

function startKeys(app) {
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("input, select, textarea, summary, .menu, [data-arrows], .scroll");
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || busy || app.state.view !== "step" || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    app.move(by);
  });
}

function startTyping(app) {
  byId("text").addEventListener("input", (event) => {
    app.update({ text: event.target.value, ...NO_INTERFERENCE, step: 0 }, { soon: true });
  });
  byId("ask").addEventListener("submit", (event) => event.preventDefault());
}

async function start() {
  const [models, traces] = saved ? [[], await inside()] : [await outside(), []];
  const app = new App(models, traces, say);
  byId("no-model").hidden = !saved;
  byId("ask-fields").disabled = saved || !models.length;
  buildOptions(() => app.state, (...change) => app.update(...change), say);
  startTheme(() => app.redraw());
  startSaving(app);
  startOpening(app);
  startChoosing(app);
  startKeys(app);
  startTyping(app);
  byId("skip").addEventListener("click", () => byId("results").focus());
  addEventListener("hashchange", () => app.restore(location.hash));
  app.restore(location.hash);
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  console.error(String(error));
  say("The page could not be started. It needs a browser of 2024 or later.");
});

// Start of the page: with a server and its models, or with the traces saved in the page.
import { buildTools, drawModels, present } from "saccade/base/header";
import { byId, find } from "saccade/base/dom";
import { visible } from "saccade/base/format";
import { drawBanner, say } from "saccade/base/notice";
import { themeButton } from "saccade/base/theme";
import { saved, served } from "saccade/engine/engine";
import { setToken } from "saccade/engine/server";
import { drawInspector } from "saccade/inspector/inspector";
import { drawLens } from "saccade/lenses/lens";
import { positions } from "saccade/lenses/step";
import { startPasting } from "saccade/share/files";
import { labelOf, startDropping } from "saccade/share/open";
import { startKeys } from "saccade/stage/keys";
import { Light } from "saccade/stage/light";
import { drawStage } from "saccade/stage/stage";
import { sentenceOf } from "saccade/stage/told";
import { App } from "saccade/state/app";
import { arrivalPick, followedOf, nextPick, sceneOf } from "saccade/state/scene";
import { openTrace } from "saccade/trace/open";

const alone = document.documentElement.dataset.mode === "saved";
const PACE = 1800;
/** Milliseconds of a step while playing. */

async function savedTraces() {
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

const RETRY = 2000;
/** Milliseconds until the server is asked again for its models. */

/** The server's engine; if the server requires a token, ask for it first. One that is away is asked until it is back. */
async function server(told = null) {
  try {
    return await served();
  } catch (error) {
    if (error.passing) {
      if (error.message !== told) say(`${error.message} The page tries again by itself.`);
      await new Promise((resolve) => { setTimeout(resolve, RETRY); });
      return server(error.message);
    }
    if (error.status !== 401) {
      say(error.message);
      return { ...saved(), live: true };
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
  return server();
}

/** Announce the answer, and the effect of a change, to screen readers. */
function tell(answer, state) {
  const done = answer.diff ? ` ${sentenceOf(answer, state)}` : "";
  byId("status").textContent = `${visible(answer.label)}: ${visible(answer.trace.text)}${done}`;
}

/** On a small screen the inspector is a sheet over the page: scroll until it does not hide an element. */
function reveal(element) {
  const sheet = byId("inspector");
  if (!element || getComputedStyle(sheet).position !== "fixed") return;
  const [box, top] = [element.getBoundingClientRect(), sheet.getBoundingClientRect().top - 12];
  if (box.bottom > top || box.top < 0) scrollBy({ top: Math.min(box.bottom - top, box.top - 12) });
}

/** Draws the page. */
class Page {
  light = new Light();
  scene = null;
  #followed = null;
  #player = null;
  #picked = "";

  start(app) {
    this.app = app;
  }

  /** Draw everything; `answered` is the model whose answer has just arrived, if one has. */
  draw(answered = null) {
    const { app, light } = this;
    if (!app) return;
    this.scene = sceneOf(app);
    if (!app.acted) this.#followed = null;
    else this.#followed ??= followedOf(this.scene, app); // as long as the answer before is there
    const settled = this.scene.answers.every((answer) => !answer.busy);
    if (answered && app.acted && settled) {
      app.acted = false;
      this.#select(nextPick(this.scene, this.#followed));
      light.clear(); // the focus stays on the word that was changed, but what follows from it is to be seen
      byId("inspector").scrollTop = 0;
    } else if (answered && settled && app.fresh) {
      app.fresh = false;
      const pick = arrivalPick(this.scene, app);
      if (pick) this.#select(pick);
      else this.#drawScene();
    } else this.#drawScene();
    const answer = this.scene.answers.find((each) => each.model === answered && each.trace);
    if (!answered || !answer) return;
    tell(answer, app.state);
    performance.mark("answer");
  }

  /** Select a word without a click on it: the page stays where it is. */
  #select(pick) {
    this.#picked = JSON.stringify(pick);
    this.app.update({ pick });
  }

  #drawScene() {
    const { app, light } = this;
    light.reset(this.#home());
    drawModels(app);
    drawStage(this.scene, app, light);
    drawLens(this.scene, app, light, { go: (step) => this.go(step), playing: this.#player !== null,
      play: () => this.play() });
    drawInspector(this.scene, app, light);
    drawBanner(this.scene, app);
    light.tell();
    document.body.classList.toggle("waiting", this.scene.answers.some((answer) => answer.slow));
    const picked = JSON.stringify(this.scene.pick && app.state.pick);
    if (picked !== this.#picked && this.#picked) reveal(find('.word[aria-pressed="true"]'));
    this.#picked = picked;
  }

  /** The highlight while nothing is pointed at: the step shown, or the selected word. */
  #home() {
    const { state, first, pick } = this.scene;
    if (state.lens === "step" && first?.figure) {
      const row = first.figure.rows.findIndex((entry) => entry.places.includes(state.step));
      return { row: row < 0 ? null : row, column: null, of: first.of };
    }
    if (!pick) return { row: null, column: null, of: 0 };
    return { row: pick.row, column: pick.row === null ? pick.column : null, of: pick.of };
  }

  get #last() {
    const first = this.scene.first;
    return first ? positions(first.trace, first.site) - 1 : 0;
  }

  /** Show a step; the arrow keys do it too. */
  go(step) {
    const to = Math.max(0, Math.min(this.#last, step));
    if (to !== this.app.state.step) this.app.update({ step: to, pick: null });
  }

  play() {
    if (this.#player !== null) {
      clearInterval(this.#player);
      this.#player = null;
    } else {
      if (this.app.state.step >= this.#last) this.go(0);
      this.#player = setInterval(() => {
        if (this.app.state.lens === "step" && this.app.state.step < this.#last) this.go(this.app.state.step + 1);
        else this.play();
      }, PACE);
    }
    this.draw();
  }
}

async function start() {
  const page = new Page();
  const [engine, traces] = alone ? [saved(), await savedTraces()] : [await server(), []];
  const app = new App(engine, traces, { draw: (answered) => page.draw(answered), say });
  page.start(app);
  buildTools(app, themeButton(() => page.draw()));
  startDropping(app);
  startPasting(app);
  startKeys(page);
  byId("skip").addEventListener("click", () => byId("stage").focus());
  history.scrollRestoration = "manual"; // Undo goes back in the history, and must not scroll
  addEventListener("popstate", () => app.restore(location.hash));
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && document.body.classList.contains("present")) present(app, false);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) page.draw(); // the matrix fits the width
    width = innerWidth;
  });
  app.restore(location.hash);
  app.begin();
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  console.error(String(error));
  say("The page could not be started. It needs a browser of 2024 or later.");
});

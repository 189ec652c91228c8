// Saving: the screen as SVG or PNG, a page that needs no server, and the traces as JSON.
import { el } from "saccade/base/dom";
import { file } from "saccade/engine/server";
import { snapshot } from "saccade/share/snapshot";

const shell = document.documentElement.cloneNode(true); // the original document: modules run before the page is drawn
const LARGEST = 8192;

function deliver(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

async function picture({ text, width, height }) {
  const scale = Math.min(2, LARGEST / width, LARGEST / height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

const base64 = (text) => btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));

/** Escape JSON for a script element, so that it cannot end the element or begin a comment. */
export const harmless = (json) => json.replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029",
  "\\u2029");

/** One HTML file with the traces inside, built like those of saccade.look.page. */
export async function wholePage(traces) {
  const page = /** @type {any} */ (shell.cloneNode(true));
  const nonce = base64(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))).replace(/[^A-Za-z0-9]/g, "");
  page.dataset.mode = "saved";
  page.querySelectorAll("script.trace, meta[http-equiv]").forEach((old) => old.remove());
  const map = page.querySelector("script[type=importmap]");
  const { imports } = JSON.parse(map.textContent);
  for (const [name, address] of Object.entries(imports)) {
    if (!address.startsWith("data:")) imports[name] = `data:text/javascript;base64,${base64(await file(address))}`;
  }
  map.textContent = harmless(JSON.stringify({ imports }));
  for (const link of page.querySelectorAll("link[rel=stylesheet]")) {
    link.replaceWith(el("style", {}, await file(link.getAttribute("href"))));
  }
  page.querySelectorAll("script, style").forEach((part) => part.setAttribute("nonce", nonce));
  page.querySelector("meta[charset]").after(el("meta", { "http-equiv": "Content-Security-Policy", content:
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; `
    + "base-uri 'none'; form-action 'none'" }));
  page.querySelector("body").append(...traces.map((text) =>
    el("script", { type: "application/json", class: "trace" }, harmless(text))));
  return `<!doctype html>\n${page.outerHTML}\n`;
}

/** What can be done with the page: {svg, png, html, json, link}; each may fail, and then says so. */
export function savers(app) {
  const name = () => `saccade-${app.state.lens}`;
  const traces = () => app.shown().filter((each) => each.trace).map((each) => each.trace.source);
  const drawn = () => snapshot(document.querySelector("main"));
  const acts = {
    svg: () => deliver(`${name()}.svg`, drawn().text, "image/svg+xml"),
    png: async () => deliver(`${name()}.png`, await picture(drawn())),
    html: async () => deliver("saccade.html", await wholePage(traces()), "text/html"),
    json: () => traces().forEach((text, place) =>
      deliver(place ? `trace-${place + 1}.json` : "trace.json", text, "application/json")),
    link: async () => {
      await navigator.clipboard.writeText(location.href);
      app.say(app.image && !app.image.example
        ? "The link is copied: it opens all that you chose but the image, which has to be chosen again."
        : "The link is copied: it opens exactly what you see.");
    },
  };
  return Object.fromEntries(Object.entries(acts).map(([kind, act]) => [kind, async () => {
    try {
      await act();
    } catch (error) {
      console.warn(String(error));
      app.say(kind === "link" ? "The browser does not allow copying here. Copy the address of the page instead."
        : `The ${kind.toUpperCase()} file could not be made.`);
    }
  }]));
}

// The screen as one SVG: boxes, words, SVG drawings, canvases and images, at their positions.
import { svg } from "saccade/base/dom";

const STYLES = { fill: "rgb(0, 0, 0)", "fill-opacity": "1", stroke: "none", "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none", opacity: "1", "font-size": "", "font-family": "", "font-weight": "400",
    "text-anchor": "start",
  "dominant-baseline": "auto", visibility: "visible" };
/** The style properties copied from SVG elements, with the defaults that are left out. */
const CONTROLS = "input, select, textarea, .transport button, .transport a, .shares button, .as-text, .menu, .hidden, .hint, "
  + "details:not([open]) > :not(summary), .talk-buttons";
const clear = (colour) => colour === "transparent" || /^rgba\(.*, 0\)$/.test(colour);

function styled(from, to) {
  const style = getComputedStyle(from);
  const text = from.tagName === "text";
  for (const [name, usual] of Object.entries(STYLES)) {
    const value = style.getPropertyValue(name);
    if (name.startsWith("font") && !text) continue;
    if (value && value !== usual) to.setAttribute(name, value);
  }
  for (const name of ["class", "tabindex", "data-key", "data-arrows"]) to.removeAttribute(name);
  [...from.children].forEach((child, place) => styled(child, to.children[place]));
}

class Sheet {
  constructor(root) {
    this.origin = root.getBoundingClientRect();
    this.parts = [];
    [this.width, this.height] = [this.origin.width, this.origin.height];
    this.measure = document.createElement("canvas").getContext("2d");
  }

  place(box) {
    const [x, y] = [box.left - this.origin.left, box.top - this.origin.top];
    this.width = Math.max(this.width, x + box.width);
    this.height = Math.max(this.height, y + box.height);
    return { x: x.toFixed(1), y: y.toFixed(1), width: box.width.toFixed(1), height: box.height.toFixed(1) };
  }

  box(element, style) {
    const line = parseFloat(style.borderTopWidth) > 0 && !clear(style.borderTopColor)
      && style.borderTopStyle !== "none";
    if (clear(style.backgroundColor) && !line) return;
    if (line && parseFloat(style.borderBottomWidth) === 0) {
      const { x, y, width } = this.place(element.getBoundingClientRect());
      this.parts.push(svg("path", { d: `M${x} ${y}h${width}`, stroke: style.borderTopColor }));
      return;
    }
    this.parts.push(svg("rect", { ...this.place(element.getBoundingClientRect()),
      rx: parseFloat(style.borderTopLeftRadius) || null,
      fill: clear(style.backgroundColor) ? "none" : style.backgroundColor, stroke: line ? style.borderTopColor : null,
      "stroke-dasharray": line && style.borderTopStyle === "dashed" ? "3 3" : null, opacity: style.opacity === "1"
        ? null : style.opacity }));
  }

  drawing(element) {
    const copy = element.cloneNode(true);
    styled(element, copy);
    for (const [name, value] of Object.entries(this.place(element.getBoundingClientRect()))) copy.setAttribute(name,
      value);
    this.parts.push(copy);
  }

  painting(element) {
    const box = element.getBoundingClientRect();
    const sharp = document.createElement("canvas"); // scaled here, because an SVG viewer would blur small canvases
    [sharp.width, sharp.height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
    const pen = sharp.getContext("2d");
    pen.imageSmoothingEnabled = element.tagName === "IMG" || element.classList.contains("heatmap");
    pen.drawImage(element, 0, 0, sharp.width, sharp.height);
    this.parts.push(svg("image", { ...this.place(box), href: sharp.toDataURL(), preserveAspectRatio: "none" }));
  }

  words(node) {
    const style = getComputedStyle(node.parentElement);
    this.measure.font = style.font;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: low } = this.measure.measureText("x");
    const range = document.createRange();
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      const { x, y } = this.place(box);
      this.parts.push(svg("text", { x, y: (Number(y) + (box.height * up) / (up + low)).toFixed(1), fill: style.color,
        "font-size": style.fontSize,
        "font-family": style.fontFamily, "font-weight": style.fontWeight === "400" ? null : style.fontWeight }, word));
    }
  }

  walk(node) {
    if (node.nodeType === Node.TEXT_NODE) this.words(node);
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(CONTROLS)) return;
    const style = getComputedStyle(node);
    if (style.display === "none" || style.visibility === "hidden") return;
    if (node.tagName === "svg") this.drawing(node);
    else if (node.tagName === "CANVAS" || node.tagName === "IMG") this.painting(node);
    else {
      this.box(node, style);
      node.childNodes.forEach((child) => this.walk(child));
    }
  }
}

/** Draw the whole content of `root`, scrolled parts included; returns {text, width, height}. */
export function snapshot(root) {
  root.classList.add("exporting"); // the style sheet expands all scrolling elements
  const sheet = new Sheet(root);
  try {
    sheet.walk(root);
  } finally {
    root.classList.remove("exporting");
  }
  const size = { width: Math.ceil(sheet.width) + 16, height: Math.ceil(sheet.height) + 16 };
  const page = getComputedStyle(document.body).backgroundColor;
  const shown = svg("svg", { ...size, viewBox: `-8 -8 ${size.width} ${size.height}` },
    svg("rect", { x: -8, y: -8, ...size, fill: page }), sheet.parts);
  return { ...size, text: new XMLSerializer().serializeToString(shown) };
}

// A sheet to draw an image on, with the mouse, a finger or a pen.
import { button, el } from "saccade/base/dom";

const SIDE = 280;
const PEN = 15;
/** Pixels of the sheet and of a stroke. */
let made = null;
let count = 0;

function place(canvas, event) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return [((event.clientX - left) / width) * SIDE, ((event.clientY - top) / height) * SIDE];
}

/** A sheet: {canvas, empty(), clear(), base64()}. `drawn` is called after every stroke. */
export function newSheet(drawn = () => {}) {
  const canvas = el("canvas", { class: "sheet", width: SIDE, height: SIDE, role: "img", "aria-label": "A sheet to draw on" });
  const pen = canvas.getContext("2d");
  let [down, strokes] = [false, 0];
  const clear = () => {
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, SIDE, SIDE);
    strokes = 0;
  };
  clear();
  Object.assign(pen, { lineWidth: PEN, lineCap: "round", lineJoin: "round", strokeStyle: "#000000" });
  canvas.addEventListener("pointerdown", (event) => {
    down = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...place(canvas, event));
    pen.lineTo(...place(canvas, event));
    pen.stroke();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!down) return;
    pen.lineTo(...place(canvas, event));
    pen.stroke();
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => {
    if (!down) return;
    down = false;
    strokes += 1;
    drawn();
  });
  return { canvas, clear, empty: () => strokes === 0, base64: () => canvas.toDataURL("image/png").split(",")[1] };
}

/** The sheet whose drawing is the input image, and the button that clears it; it stays in the page, so that no stroke is lost. */
export function drawing(app) {
  if (made) return made;
  const sheet = newSheet(() => {
    count += 1;
    app.setFile({ id: `drawing ${count}`, name: "drawing", base64: sheet.base64(), kind: "picture" });
  });
  made = el("div", { class: "drawing" }, sheet.canvas, el("span", { class: "quiet" }, "Draw here. ",
    button("Clear", sheet.clear, { class: "small", "data-key": "clear-sheet" })));
  return made;
}

// A sheet to draw the input image on, with the mouse, a finger or a pen.
import { button, el } from "saccade/base/dom";

const SIDE = 280;
const PEN = 15;
/** Pixels of the sheet and of a stroke. */
let made = null;
let count = 0;

function place(sheet, event) {
  const { left, top, width, height } = sheet.getBoundingClientRect();
  return [((event.clientX - left) / width) * SIDE, ((event.clientY - top) / height) * SIDE];
}

function clear(pen) {
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, SIDE, SIDE);
}

/** Use what was drawn as the input image. */
function take(sheet, app) {
  count += 1;
  app.setFile({ id: `drawing ${count}`, name: "drawing", base64: sheet.toDataURL("image/png").split(",")[1], kind: "picture" });
}

/** The sheet and the button that clears it; it stays in the page, so that no stroke is lost. */
export function drawing(app) {
  if (made) return made;
  const sheet = el("canvas", { class: "sheet", width: SIDE, height: SIDE, role: "img", "aria-label": "A sheet to draw on" });
  const pen = sheet.getContext("2d");
  clear(pen);
  Object.assign(pen, { lineWidth: PEN, lineCap: "round", lineJoin: "round", strokeStyle: "#000000" });
  let down = false;
  sheet.addEventListener("pointerdown", (event) => {
    down = true;
    sheet.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...place(sheet, event));
    pen.lineTo(...place(sheet, event));
    pen.stroke();
  });
  sheet.addEventListener("pointermove", (event) => {
    if (!down) return;
    pen.lineTo(...place(sheet, event));
    pen.stroke();
  });
  for (const kind of ["pointerup", "pointercancel"]) sheet.addEventListener(kind, () => {
    if (down) take(sheet, app);
    down = false;
  });
  made = el("div", { class: "drawing" }, sheet, el("span", { class: "quiet" }, "Draw here. ", button("Clear", () => clear(pen),
    { class: "small", "data-key": "clear-sheet" })));
  return made;
}

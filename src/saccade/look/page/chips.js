// The words of both sides: pointing at a word highlights the words of the other side by their weights.
import { el, roving } from "saccade/dom";
import { strongest } from "saccade/fold";
import { percent, visible } from "saccade/words";

const NAMES = { source: "read", target: "written", written: "written before" };

const LIT = 0.05;

function told(picture, row) {
  const parts = strongest(picture, row, 3, picture.side ? 0 : undefined).map((column) =>
    `${visible(picture.columns[column].name)} ${percent(picture.at(row, column))}`);
  return parts.length ? `looks at ${parts.join(", ")}` : "looks at nothing much";
}

function line(label, entries, kind, { light, describe, open, blocked }) {
  const chips = entries.map((entry, place) => el("button", {
    type: "button", class: `chip${entry.sink ? " sink" : ""}${blocked(entry) ? " blocked" : ""}`, dir: "auto",
    "data-key": `${kind}-${place}`, "aria-haspopup": "dialog",
    "aria-label": `${visible(entry.name)}${blocked(entry) ? ", blocked" : ""}${describe(place)}`,
    on: {
      pointerenter: () => light.set(...(kind === "row" ? [place, null] : [null, place])),
      focus: () => light.set(...(kind === "row" ? [place, null] : [null, place])),
      pointerleave: () => light.clear(), blur: () => light.clear(),
      click: (event) => open(event.currentTarget, place),
    },
  }, visible(entry.name)));
  const group = el("div", { class: "chips", role: "group", "aria-label": `Words ${label}` }, chips);
  if (chips.length) roving(group, ".chip");
  return { chips, shown: el("div", { class: "line" }, el("span", { class: "line-name" }, label), group) };
}

function shade(chip, weight) {
  chip.style.setProperty("--look", Math.min(1, weight).toFixed(3));
  chip.classList.toggle("lit", weight >= LIT);
}

/** Both lines of words; an image side has no line. A click calls `openRow` or `openColumn` with the chip and its position. */
export function wordLines(picture, site, light, { openRow, openColumn, blocked }) {
  const own = site.rows === site.columns;
  const rows = line(own ? "looks" : NAMES[site.rows] ?? site.rows, picture.rows, "row",
    { light, open: openRow, describe: (row) => `: ${told(picture, row)}`, blocked: () => false });
  const columns = line(own ? "is looked at" : NAMES[site.columns] ?? site.columns, picture.columns, "column",
    { light, open: openColumn, describe: () => "", blocked });

  light.listen(({ row, column }) => {
    // the weights of one region are small, so they are divided by their maximum
    const most = picture.side && column !== null ? Math.max(1e-9, ...rows.chips.map((_, r) => picture.at(r, column)))
      : 1;
    rows.chips.forEach((chip, r) => {
      chip.classList.toggle("on", r === row);
      shade(chip, row === null && column !== null ? picture.at(r, column) / most : 0);
    });
    columns.chips.forEach((chip, c) => {
      chip.classList.toggle("on", c === column);
      shade(chip, row !== null && column === null ? picture.at(row, c) : 0);
    });
  });
  return el("div", { class: "lines" }, !picture.side && columns.shown, !(picture.side && own) && rows.shown);
}

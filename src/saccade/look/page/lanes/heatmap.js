// The heatmap over an image: transparent where attention is high, dark where it is low. Same numbers as saccade.look.heatmap.
import { el } from "saccade/base/dom";
import { isSheet } from "saccade/trace/fold";

const COLOUR = [17, 21, 34];
const THICKEST = 0.8;
const EDGE = 0.5;
const EDGE_COLOUR = [255, 214, 102];
const EDGE_OPACITY = 0.85;

const clipped = (value) => Math.min(1, Math.max(0, value));

function spline(distance) {
  const near = Math.abs(distance);
  return near < 1 ? 2 / 3 - near ** 2 + near ** 3 / 2 : Math.max(2 - near, 0) ** 3 / 6;
}

/** For each pixel the four regions whose splines reach it, mirrored at the edges, with their values; flat: its own region. */
function basis(pixels, regions, flat) {
  if (flat) return Array.from({ length: pixels }, (_, pixel) => [[Math.floor((pixel * regions) / pixels), 1]]);
  return Array.from({ length: pixels }, (_, pixel) => {
    const place = ((pixel + 0.5) / pixels) * regions - 0.5;
    const first = Math.floor(place) - 1;
    return [0, 1, 2, 3].map((step) => {
      const number = first + step;
      const turned = ((number % (2 * regions)) + 2 * regions) % (2 * regions);
      return [turned < regions ? turned : 2 * regions - 1 - turned, spline(place - number)];
    });
  });
}

/** Interpolate weights (rows · columns) to a smooth or flat map (height · width), divided by its maximum. */
export function shine(weights, [rows, columns], height, width, flat = false) {
  const [down, across] = [basis(height, rows, flat), basis(width, columns, flat)];
  const lines = new Float64Array(height * columns);
  down.forEach((parts, y) => parts.forEach(([row, share]) => {
    for (let column = 0; column < columns; column += 1) {
      lines[y * columns + column] += share * weights[row * columns + column];
    }
  }));
  const map = new Float64Array(height * width);
  let most = 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let sum = 0;
      for (const [column, share] of across[x]) sum += share * lines[y * columns + column];
      map[y * width + x] = sum;
      most = Math.max(most, sum);
    }
  }
  return most > 0 ? map.map((value) => value / most) : map;
}

/** The coverage of a pixel by the contour line at half of the maximum, `wide` pixels wide.
 * `closes`: the line also follows the image edge, around regions that touch it. */
function covered(map, x, y, width, height, wide, closes) {
  const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
  const [up, down] = [Math.max(0, y - 1), Math.min(height - 1, y + 1)];
  const across = (map[y * width + right] - map[y * width + left]) / Math.max(1, right - left);
  const along = (map[down * width + x] - map[up * width + x]) / Math.max(1, down - up);
  const inside = (map[y * width + x] - EDGE) / Math.max(1e-9, Math.hypot(across, along));
  const line = clipped(wide / 2 + 0.5 - Math.abs(inside));
  if (!closes) return line;
  return Math.max(line, clipped(wide - Math.min(x, y, width - 1 - x, height - 1 - y)) * clipped(inside + 0.5));
}

/** Paint the heatmap of the weights, or clear the canvas for null. */
export function paint(canvas, weights, grid, wide = 1.5, flat = false) {
  const { width, height } = canvas;
  const pen = canvas.getContext("2d");
  if (!weights) {
    pen.clearRect(0, 0, width, height);
    return;
  }
  const map = shine(weights, grid, height, width, flat);
  const closes = map.some((value) => value < EDGE);
  const pixels = new ImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const place = y * width + x;
      const thick = THICKEST * (1 - map[place]);
      const line = EDGE_OPACITY * covered(map, x, y, width, height, wide, closes);
      const opacity = line + thick * (1 - line);
      for (let channel = 0; channel < 3; channel += 1) {
        pixels.data[4 * place + channel] = Math.round((line * EDGE_COLOUR[channel]
          + COLOUR[channel] * thick * (1 - line)) / Math.max(1e-9, opacity));
      }
      pixels.data[4 * place + 3] = Math.round(255 * opacity);
    }
  }
  pen.putImageData(pixels, 0, 0);
}

/** An image under a heatmap of `size` pixels; `show` takes weights, or null for the plain image. */
export function overlaid(side, size, wide) {
  const canvas = el("canvas", { class: "heatmap", width: size, height: size, "aria-hidden": "true" });
  const shown = el("span", { class: "overlaid" }, el("img", { src: side.image, alt: "" }), canvas);
  return { shown, show: (weights) => paint(canvas, weights, side.grid, wide, isSheet(side)) };
}

// Packed arrays of a trace, as described in docs/trace.md. So that a small file cannot fill the memory, no more is
// unpacked than the shape declares, and shapes have a limit.

const MOST = 1 << 26;

/** An error in a trace, with a message to show. */
export class Fault extends Error {}

const whole = (value, least) => Number.isInteger(value) && value >= least;

function sizeOf(packed, where) {
  if (packed === null || typeof packed !== "object") throw new Fault(`${where} is no packed array.`);
  const { shape, low, high, levels, data } = packed;
  if (!Array.isArray(shape) || !shape.every((size) => whole(size, 0))) throw new Fault(`${where} has no proper shape.`);
  if (!Number.isFinite(low) || !Number.isFinite(high) || high < low) {
    throw new Fault(`${where} needs two finite numbers, low and a high that is not below it.`);
  }
  if (!whole(levels, 2) || levels > 65535) throw new Fault(`${where} needs 2 to 65535 levels.`);
  if (typeof data !== "string") throw new Fault(`${where} has no data.`);
  const count = shape.reduce((product, size) => product * size, 1);
  const size = shape.join(" × ");
  if (count > MOST) throw new Fault(`${where} has the shape ${size}, more numbers than this page can hold.`);
  return count;
}

async function inflate(data, wanted, where) {
  const bytes = new Uint8Array(wanted);
  let found = 0;
  try {
    const raw = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const reader = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (found + part.value.length > wanted) {
        reader.cancel().catch(() => {});
        found = Infinity;
        break;
      }
      bytes.set(part.value, found);
      found += part.value.length;
    }
  } catch {
    throw new Fault(`${where} cannot be unpacked, so the file is damaged.`);
  }
  if (found !== wanted) {
    throw new Fault(`${where} has ${found > wanted ? "more" : "fewer"} numbers than its shape says.`);
  }
  return bytes;
}

/** Unpack to {shape, values}: the numbers as floats, NaN for holes. */
export async function unpack(packed, where) {
  const count = sizeOf(packed, where);
  const { shape, low, high, levels } = packed;
  const wide = levels > 255;
  const bytes = await inflate(packed.data, count * (wide ? 2 : 1), where);
  const first = packed.holes === true ? 1 : 0;
  const step = (high - low) / (levels - first);
  const values = new Float32Array(count);
  for (let place = 0; place < count; place += 1) {
    const level = wide ? bytes[2 * place] | (bytes[2 * place + 1] << 8) : bytes[place];
    values[place] = level < first ? NaN : low + step * (level - first);
  }
  return { shape, values };
}

/** One row of an array (…, rows, width); `path` are the indices in all axes but the last. */
export function rowOf(array, ...path) {
  const width = array.shape.at(-1);
  const place = path.reduce((sum, index, axis) => sum * array.shape[axis] + index, 0);
  return array.values.subarray(place * width, (place + 1) * width);
}

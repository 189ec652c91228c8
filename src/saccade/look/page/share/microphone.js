// Recording from the microphone to a .wav file, which becomes the input.
import { takeFile } from "saccade/share/files";

const MOST = 60;
/** Maximum seconds of a recording. */
const FULL = 32767;

/** A .wav file of one channel with 16 bits. */
export function wave(blocks, rate) {
  const count = blocks.reduce((sum, block) => sum + block.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * count));
  const text = (place, letters) => [...letters].forEach((letter, step) => view.setUint8(place + step, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * count, true);
  text(8, "WAVEfmt ");
  [[16, 4, 16], [20, 2, 1], [22, 2, 1], [24, 4, rate], [28, 4, 2 * rate], [32, 2, 2], [34, 2, 16], [40, 4, 2 * count]]
    .forEach(([place, size, value]) => (size === 4 ? view.setUint32(place, value, true) : view.setUint16(place, value, true)));
  text(36, "data");
  let place = 44;
  for (const block of blocks) {
    for (const value of block) {
      view.setInt16(place, Math.round(FULL * Math.max(-1, Math.min(1, value))), true);
      place += 2;
    }
  }
  return view.buffer;
}

/** Start recording; return a function that ends it and gives the recording to the page. */
export async function record(app) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const context = new AudioContext();
  await context.audioWorklet.addModule(import.meta.resolve("saccade/share/recorder"));
  const node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
  const blocks = [];
  node.port.onmessage = ({ data }) => blocks.push(data);
  context.createMediaStreamSource(stream).connect(node);
  let timer = null;
  const end = async () => {
    clearTimeout(timer);
    for (const track of stream.getTracks()) track.stop();
    const rate = context.sampleRate;
    await context.close();
    await takeFile(new File([wave(blocks, rate)], "recording.wav", { type: "audio/wav" }), app, "sound");
  };
  timer = setTimeout(end, 1000 * MOST);
  return end;
}

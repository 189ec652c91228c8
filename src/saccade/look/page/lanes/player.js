// Playing a recording that a trace contains, with Web Audio: no request is made, so saved pages play it too.

/** The bytes of a base64 data: URL. */
function bytesOf(address) {
  const text = atob(address.slice(address.indexOf(",") + 1));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer;
}

let context = null;
let current = null;
/** One sound plays at a time. */
let kept = null;

/**
 * The player of a sound; it goes on playing when its lane is drawn anew. `show(time)` is called while it plays, and with
 * null at the end; `changed(playing)` when it begins or ends.
 */
export function playerOf(address, show, changed) {
  if (kept?.address !== address) {
    kept?.stop();
    kept = new Player(address);
  }
  Object.assign(kept, { show, changed });
  changed(kept.playing);
  return kept;
}

class Player {
  #source = null;
  show = null;
  changed = null;

  constructor(address) {
    this.address = address;
    this.decoded = new OfflineAudioContext(1, 1, 48000).decodeAudioData(bytesOf(address));
    this.samples = this.decoded.then((buffer) => buffer.getChannelData(0));
    this.samples.catch(() => {}); // reported by those who wait for it
  }

  get playing() {
    return this.#source !== null;
  }

  /** Play from a time in seconds, up to another or the end. */
  async play(from, to = null) {
    context ??= new AudioContext();
    const buffer = await this.decoded;
    await context.resume();
    current?.stop();
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.addEventListener("ended", () => { if (this.#source === source) this.stop(); });
    source.start(0, from, to === null ? undefined : to - from);
    current = this;
    this.#source = source;
    this.changed(true);
    const begun = context.currentTime;
    const move = () => {
      if (this.#source !== source) return;
      this.show(Math.min(buffer.duration, from + context.currentTime - begun));
      requestAnimationFrame(move);
    };
    move();
  }

  stop() {
    const source = this.#source;
    this.#source = null;
    if (current === this) current = null;
    source?.stop();
    this.show(null);
    this.changed(false);
  }
}

//! A maker of files, in a process of its own: they are made of slices of one when they are read and take no memory, but
//! what the browser notes of each slice would be most of what is measured.

parent.postMessage("ready", "*");

self.onmessage = ({ data: { base, port } }: MessageEvent<{ base: File; port: MessagePort }>) => {
  port.onmessage = ({ data: { number, bytes } }: MessageEvent<{ number: number; bytes: number }>) => {
    port.postMessage(made(number, bytes, base));
    // Where it may be called: nothing else here would make the collector look.
    (globalThis as { gc?: () => void }).gc?.();
  };
};

/** A file of slices from all over one, shorter than most chunks: hardly a chunk comes twice. */
function made(number: number, bytes: number, base: File): File {
  let state = number + 1;
  const parts: Blob[] = [];
  for (let left = bytes; left > 0; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const length = Math.min(left, PART + (state % PART));
    const start = Math.floor((state / 2 ** 32) * (base.size - length));
    parts.push(base.slice(start, start + length));
    left -= length;
  }
  return new File(parts, "made", { lastModified: MODIFIED });
}

const MODIFIED = 1_700_000_000_000;
const PART = 24 << 10;

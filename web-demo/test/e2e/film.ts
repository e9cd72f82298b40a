//! Film: a WebM file around frames that a browser has encoded, each of them a whole picture; a player finds every second in it.

import type { Page } from "playwright-core";

/** Frames that differ; they come again and again. */
export const FRAMES = 24;

/** A film of one frame a second. Its left half has the frame's number in five bars, black for 0 and white for 1; its right half is
 * noise. */
export async function film(page: Page, seconds: number): Promise<Buffer> {
  const frames = await page.evaluate(async ({ frames, width, height }) => {
    const found: string[] = [];
    const encoder = new VideoEncoder({
      output: (chunk) => {
        const bytes = new Uint8Array(chunk.byteLength);
        chunk.copyTo(bytes);
        let letters = "";
        for (let at = 0; at < bytes.length; at += 8_192) letters += String.fromCharCode(...bytes.subarray(at, at + 8_192));
        found.push(btoa(letters));
      },
      error: (error) => { throw error; },
    });
    encoder.configure({ codec: "vp8", width, height, bitrate: 40_000_000, framerate: 1 });
    const canvas = new OffscreenCanvas(width, height);
    const brush = canvas.getContext("2d")!;
    for (let number = 0; number < frames; number++) {
      const noise = brush.createImageData(width / 2, height);
      for (let at = 0; at < noise.data.length; at += 65_536) crypto.getRandomValues(noise.data.subarray(at, at + 65_536));
      for (let at = 3; at < noise.data.length; at += 4) noise.data[at] = 255;
      for (let bar = 0; bar < 5; bar++) {
        brush.fillStyle = (number >> bar) & 1 ? "#fff" : "#000";
        brush.fillRect((bar * width) / 10, 0, width / 10, height);
      }
      brush.putImageData(noise, width / 2, 0);
      const frame = new VideoFrame(canvas, { timestamp: number * 1_000_000, duration: 1_000_000 });
      encoder.encode(frame, { keyFrame: true });
      frame.close();
      if (encoder.encodeQueueSize > 4) await encoder.flush();
    }
    await encoder.flush();
    return found;
  }, { frames: FRAMES, width: WIDTH, height: HEIGHT });
  return webm(Array.from({ length: seconds }, (_, second) => Buffer.from(frames[second % FRAMES]!, "base64")));
}

function webm(frames: Buffer[]): Buffer {
  const head = element("1a45dfa3", number("4286", 1), number("42f7", 1), number("42f2", 4), number("42f3", 8), text("4282", "webm"), number("4287", 4), number("4285", 2));
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(frames.length * 1_000);
  const info = element("1549a966", number("2ad7b1", 1_000_000), element("4489", duration), text("4d80", "copal"), text("5741", "copal"));
  const video = element("e0", number("b0", WIDTH), number("ba", HEIGHT));
  const tracks = element("1654ae6b", element("ae", number("d7", 1), number("73c5", 1), number("83", 1), text("86", "V_VP8"), video));
  const clusters = frames.map((frame, second) => element("1f43b675", number("e7", second * 1_000), element("a3", Buffer.from([0x81, 0, 0, 0x80]), frame)));
  const cues = (starts: number[]) => element("1c53bb6b", ...starts.map((start, second) => element("bb", number("b3", second * 1_000), element("b7", number("f7", 1), number("f1", start)))));
  // Numbers have a length of their own whatever they are: where the clusters begin does not depend on what the cues say.
  let at = info.length + tracks.length + cues(frames.map(() => 0)).length;
  const starts = clusters.map((cluster) => (at += cluster.length) - cluster.length);
  return Buffer.concat([head, element("18538067", info, tracks, cues(starts), ...clusters)]);
}

function element(id: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE((1n << 56n) | BigInt(body.length));
  return Buffer.concat([Buffer.from(id, "hex"), size, body]);
}

function number(id: string, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return element(id, bytes);
}

function text(id: string, value: string): Buffer {
  return element(id, Buffer.from(value));
}

const [WIDTH, HEIGHT] = [1600, 1000];

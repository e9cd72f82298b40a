//! Kinds: what a file is, judged by its bytes and never by its name.

import type { Preview } from "../snapshots";

/** What the beginning of a file says that it is. `isPart`: there is more of it. */
export function kindOf(head: Uint8Array, isPart: boolean): Pick<Preview, "kind" | "mediaType"> {
  const image = imageType(head);
  if (image) return { kind: "image", mediaType: image };
  const media = mediaTypeOf(head);
  if (media) return { kind: media.startsWith("audio/") ? "audio" : "video", mediaType: media };
  if (letters(head, 0, 5) === "%PDF-") return { kind: "pdf", mediaType: "application/pdf" };
  return { kind: isText(head, isPart) ? "text" : "binary", mediaType: null };
}

/** The type of an image that a browser shows safely, by its first bytes. SVG is a document, and none of them. */
export function imageType(bytes: Uint8Array): string | null {
  const head = letters(bytes, 0, 16);
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  if (head.slice(4, 8) === "ftyp" && /^avi[fs]/.test(head.slice(8))) return "image/avif";
  if (head.startsWith("BM") && bytes.length > 26) return "image/bmp";
  return null;
}

/** The type of a sound or film that browsers play, by its first bytes. */
export function mediaTypeOf(bytes: Uint8Array): string | null {
  const head = letters(bytes, 0, 64);
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WAVE") return "audio/wav";
  if (head.startsWith("fLaC")) return "audio/flac";
  if (head.startsWith("OggS")) return /theora/.test(head) ? "video/ogg" : "audio/ogg";
  if (head.startsWith("\x1aE\xdf\xa3")) return "video/webm";
  if (head.slice(4, 8) === "ftyp" && /^(M4A |M4B )/.test(head.slice(8))) return "audio/mp4";
  if (head.slice(4, 8) === "ftyp" && /^(iso[0-9m]|mp4[12]|avc1|M4V |dash|MSNV|qt {2}|3g[p2])/.test(head.slice(8))) return "video/mp4";
  if (head.startsWith("ID3")) return "audio/mpeg";
  // A frame of MPEG audio: eleven bits of one, then a version, a layer, a bit rate and a rate of samples that there are.
  const [first, second, third] = [bytes[0] ?? 0, bytes[1] ?? 0, bytes[2] ?? 0];
  const isFrame = first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x18) !== 0x08 && third >> 4 !== 0xf && (third & 0x0c) !== 0x0c;
  if (isFrame && (second & 0x06) === 0x02) return "audio/mpeg";
  if (isFrame && (second & 0xf6) === 0xf0) return "audio/aac";
  return null;
}

/** Whether bytes are UTF-8 text; at the end of a part a character may be cut. */
export function isText(bytes: Uint8Array, isPart: boolean): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isPart });
    return !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text);
  } catch {
    return false;
  }
}

/** Bytes as letters, one for each. */
export function letters(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}

//! Papers, in a worker of its own: draws pages of a PDF. The file may be written by anybody: what reads it has no document, no
//! keys, asks the page for bytes, gives back pictures and text, and is ended when it takes too long.

import type { FromPapers, ToPapers } from "./protocol";

let document: Promise<import("pdfjs-dist").PDFDocumentProxy> | null = null;
let give: (start: number, bytes: Uint8Array) => void = () => {};

self.onmessage = async ({ data }: MessageEvent<ToPapers>) => {
  if (data.type === "bytes") return give(data.start, data.bytes);
  try {
    if (data.type === "open") post({ type: "opened", pages: (await (document = open(data.total))).numPages });
    else await draw(data.page, data.width);
  } catch (error) {
    post({ type: "failed", isLocked: (error as Error | null)?.name === "PasswordException" });
  }
};

async function open(total: number) {
  // Its two halves run side by side in here: the reader of files finds the other one by this name.
  const { WorkerMessageHandler } = await import("pdfjs-dist/build/pdf.worker.min.mjs");
  Object.assign(globalThis, { pdfjsWorker: { WorkerMessageHandler } });
  const { PDFDataRangeTransport, VerbosityLevel, getDocument } = await import("pdfjs-dist/build/pdf.min.mjs");
  class Range extends PDFDataRangeTransport {
    override requestDataRange(start: number, end: number): void {
      post({ type: "want", start, end });
    }
  }
  const range = new Range(total, null);
  give = (start, bytes) => range.onDataRange(start, bytes);
  return getDocument({
    range, rangeChunkSize: CHUNK, disableAutoFetch: true, disableStream: true, CanvasFactory: Canvases, FilterFactory: Filters, BinaryDataFactory: NoFiles,
    // Nothing of the file becomes code or a font of the browser: its letters are drawn as lines.
    isEvalSupported: false, enableXfa: false, disableFontFace: true, useSystemFonts: false, useWasm: false, useWorkerFetch: false,
    maxImageSize: IMAGE, verbosity: VerbosityLevel.ERRORS,
  } as Parameters<typeof getDocument>[0]).promise;
}

async function draw(number: number, width: number): Promise<void> {
  const page = await (await document!).getPage(number);
  const size = page.getViewport({ scale: 1 });
  const scale = Math.min(width / size.width, Math.sqrt(AREA / (size.width * size.height)));
  const viewport = page.getViewport({ scale });
  const canvas = new OffscreenCanvas(Math.max(1, Math.floor(viewport.width)), Math.max(1, Math.floor(viewport.height)));
  const context = canvas.getContext("2d")!;
  await page.render({ canvas: null, canvasContext: context as unknown as CanvasRenderingContext2D, viewport }).promise;
  const { items } = await page.getTextContent();
  const text = items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("").slice(0, TEXT);
  const picture = canvas.transferToImageBitmap();
  page.cleanup();
  post({ type: "page", page: number, picture, text }, [picture]);
}

/** Canvases without a document. */
class Canvases {
  create(width: number, height: number) {
    if (!(width > 0 && height > 0 && width * height <= IMAGE)) throw new Error("no such canvas");
    const canvas = new OffscreenCanvas(width, height);
    return { canvas, context: canvas.getContext("2d") };
  }

  reset(made: { canvas: OffscreenCanvas }, width: number, height: number): void {
    [made.canvas.width, made.canvas.height] = [width, height];
  }

  destroy(made: { canvas: OffscreenCanvas }): void {
    [made.canvas.width, made.canvas.height] = [0, 0];
  }
}

/** Filters need a document: pages are drawn without. */
class Filters {
  addFilter = () => "none";
  addHCMFilter = () => "none";
  addAlphaFilter = () => "none";
  addLuminosityFilter = () => "none";
  addHighlightHCMFilter = () => "none";
  destroy(): void {}
}

/** Fonts and tables that a file names and does not hold are not fetched: the browser's own letters stand for them. */
class NoFiles {
  fetch(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }
}

function post(message: FromPapers, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

/** Bytes that are asked for at once. */
const CHUNK = 1 << 20;
/** Pixels of a page, of an image in it, and letters of its text. */
const AREA = 6_000_000;
const IMAGE = 32_000_000;
const TEXT = 20_000;

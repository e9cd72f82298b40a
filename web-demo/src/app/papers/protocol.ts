/** Messages between a page that shows a PDF and the worker that draws it. */

export type ToPapers =
  | { type: "open"; total: number }
  | { type: "page"; page: number; width: number }
  /** What was wanted. */
  | { type: "bytes"; start: number; bytes: Uint8Array };

export type FromPapers =
  | { type: "opened"; pages: number }
  | { type: "want"; start: number; end: number }
  | { type: "page"; page: number; picture: ImageBitmap; text: string }
  /** `isLocked`: it wants a password. */
  | { type: "failed"; isLocked: boolean };

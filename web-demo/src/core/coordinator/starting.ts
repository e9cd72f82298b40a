//! Starting: gets a part of the page when it is needed, such as a module of the engine, and starts it.

import { CopalError, failure } from "../problem";

/** Fetches and compiles a module of the engine. */
export async function compiled(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url).catch(() => null);
  // A server that answers and has it no more has another page by now.
  if (!response?.ok) throw failure(response?.status === 404 ? "part-gone" : "server-gone");
  return WebAssembly.compileStreaming(response);
}

/** Waits for a script of this page. */
export function loaded<Part>(part: Promise<Part>): Promise<Part> {
  return part.catch(() => Promise.reject(failure("part-gone")));
}

/** A part that starts once. After a failure whoever asks next tries again. */
export class Starting<Started> {
  #started: Promise<Started> | null = null;

  /** `start` gets the part and starts it; tests bring their own. */
  constructor(private readonly start: () => Promise<Started>) {}

  /** Waits until it has started; gives what works with it, such as a module, which workers start with. */
  begun(): Promise<Started> {
    return (this.#started ??= this.start().catch((error: unknown) => {
      this.#started = null;
      throw error instanceof CopalError ? error : failure("unsupported");
    }));
  }
}

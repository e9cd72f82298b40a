//! Starting: gets the engine's module and starts the engine.

import { CopalError, failure } from "../problem";

/** An engine that starts once. After a failure whoever asks next tries again. */
export class Starting {
  #module: Promise<WebAssembly.Module> | null = null;

  /** `start` gets the module and starts the engine; tests bring their own. */
  constructor(private readonly start: () => Promise<WebAssembly.Module>) {}

  /** Waits for the engine; gives the module, which workers start with. */
  begun(): Promise<WebAssembly.Module> {
    return (this.#module ??= this.start().catch((error: unknown) => {
      this.#module = null;
      throw error instanceof CopalError ? error : failure("unsupported");
    }));
  }
}

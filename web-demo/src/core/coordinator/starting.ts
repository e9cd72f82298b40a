//! Starting: the engine's two files, one behind the other. What opens a repository, and what workers do, needs the first
//! only.

import { CopalError, failure } from "../problem";

/** Where the files come from, and what takes them; tests bring their own. */
export interface Files {
  first(): Promise<WebAssembly.Module>;
  rest(): Promise<WebAssembly.Module>;
  load(first: WebAssembly.Module): Promise<unknown>;
  loadRest(rest: WebAssembly.Module): Promise<unknown>;
}

/** An engine that starts. Whatever fails is tried again when it is asked for the next time. */
export class Starting {
  #first: Promise<WebAssembly.Module> | null = null;
  #whole: Promise<void> | null = null;

  constructor(private readonly files: Files) {}

  /** Waits for the first file; gives what workers start with. */
  begun(): Promise<WebAssembly.Module> {
    return (this.#first ??= this.#begin().catch((error: unknown) => {
      this.#first = null;
      throw told(error);
    }));
  }

  /** Waits for all of the engine. */
  whole(): Promise<void> {
    return (this.#whole ??= this.#complete().catch((error: unknown) => {
      this.#whole = null;
      throw told(error);
    }));
  }

  async #begin(): Promise<WebAssembly.Module> {
    const module = await this.files.first();
    await this.files.load(module);
    return module;
  }

  async #complete(): Promise<void> {
    await this.begun();
    await this.files.loadRest(await this.files.rest());
  }
}

function told(error: unknown): CopalError {
  return error instanceof CopalError ? error : failure("unsupported");
}

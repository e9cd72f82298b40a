//! Starting: gets a module of the engine and starts it.

import { CopalError, failure } from "../problem";

/** A module that starts once. After a failure whoever asks next tries again. */
export class Starting<Started> {
  #started: Promise<Started> | null = null;

  /** `start` gets the module and starts it; tests bring their own. */
  constructor(private readonly start: () => Promise<Started>) {}

  /** Waits until it has started; gives what works with it, such as the module itself, which workers start with. */
  begun(): Promise<Started> {
    return (this.#started ??= this.start().catch((error: unknown) => {
      this.#started = null;
      throw error instanceof CopalError ? error : failure("unsupported");
    }));
  }
}

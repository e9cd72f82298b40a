//! Stored: what lies under the name of an object that was to be created.

import type { Gateway } from "./client";
import type { Patience } from "./retry";

/** Creates an object, and gives what lies under its name then: its own bytes, or those that an earlier try or somebody else has stored.
 * Null: the server refuses the name and shows nothing there. */
export async function stored(
  gateway: Pick<Gateway, "create" | "read">, patience: Patience, key: string, bytes: Uint8Array<ArrayBuffer>, sha256: Uint8Array | null = null,
): Promise<Uint8Array<ArrayBuffer> | null> {
  return (await gateway.create(patience, key, bytes, sha256)) ? bytes : gateway.read(patience, key);
}

//! Slots: finds the key slot that a passphrase or recovery code opens. Two modules of the engine ask for that: the one that every
//! browser loads, and the one for administration.

import type { SlotsToTry } from "../engine";
import { type Gateway, brief } from "../gateway/client";
import { failure } from "../problem";
import type { Stretcher } from "../work/stretcher";

/** What opens slots in one of the modules: its `Owner`. */
export interface Opener<Owner> {
  slotsToTry(copies: Uint8Array[], repository: string, isPassphrase: boolean): SlotsToTry;
  openStretched(slot: Uint8Array, key: Uint8Array): Owner;
}

/** Opens a slot. */
export type OpenSlot<Owner> = (slot: Uint8Array) => Promise<Owner>;

/** Starts the stretcher at once: it gets ready while slots are fetched. `see` is shown each stretched key before it is overwritten. */
export async function byPassphrase<Owner, T>(
  engine: Opener<Owner>,
  passphrase: string,
  start: () => Stretcher,
  work: (open: OpenSlot<Owner>) => Promise<T>,
  see?: (slot: Uint8Array, key: Uint8Array) => Promise<void>,
): Promise<T> {
  const stretcher = start();
  try {
    return await work(async (slot) => {
      const key = await stretcher.stretch(slot, passphrase);
      try {
        await see?.(slot, key);
        return engine.openStretched(slot, key);
      } finally {
        key.fill(0);
      }
    });
  } finally {
    stretcher.end();
  }
}

/** Tries the slots, the cheapest first: whoever may write to the store may plant slots that ask for much. The caller checks whose secret it holds. */
export async function openSlot<Owner>(
  engine: Opener<Owner>,
  repository: string,
  gateway: Gateway,
  open: OpenSlot<Owner>,
  wrong: "passphrase-wrong" | "code-malformed",
): Promise<{ owner: Owner; slot: string }> {
  const copies: { key: string; bytes: Uint8Array }[] = [];
  for (const { key } of (await gateway.list(brief(), "keys/")).slice(0, COPIES)) {
    const bytes = await gateway.read(brief(), key);
    if (bytes) copies.push({ key, bytes });
  }
  const { tries, isDamaged, isCostly } = engine.slotsToTry(copies.map(({ bytes }) => bytes), repository, wrong === "passphrase-wrong");
  for (const at of tries) {
    const { key, bytes } = copies[at]!;
    try {
      return { owner: await open(bytes), slot: key.split("/")[1]! };
    } catch (error) {
      if ((error as { code?: unknown }).code !== "wrong-passphrase") throw error;
    }
  }
  throw failure(isDamaged ? "repository-damaged" : isCostly ? "slots-costly" : wrong);
}

/** Copies of key slots that are read: two of each slot. */
const COPIES = 256;

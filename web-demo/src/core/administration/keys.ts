//! Keys: the key slots of the repository. Each holds the owner's secret, for who has its passphrase, recovery code or key file.

import type { Key, NewKey } from "../administration";
import { isSame } from "../bytes";
import { type Gateway, brief } from "../gateway/client";
import { failure } from "../problem";
import { type Confirmed, type Desk, current } from "./confirmed";
import { type NewSlot, Owner, keySlots, mayRemove, recoveryCode, slotKeys } from "./engine";
import { asked } from "./refusal";

export const keys = {
  async keys({ site }: Desk): Promise<Key[]> {
    const facts = keySlots(await copies(site.gateway));
    return facts.map(({ slot, kind, created, faults }) => ({
      slot,
      kind: kind ?? null,
      created: created ?? null,
      faults: faults.map(({ why }) => why),
      isCurrent: slot === site.slot,
    }));
  },

  async draftRecoveryCode(desk: Desk): Promise<string> {
    current(desk);
    const random = crypto.getRandomValues(new Uint8Array(32));
    const code = recoveryCode(random);
    random.fill(0);
    return code;
  },

  async addKey(desk: Desk, secret: NewKey, replaces: string | null): Promise<{ slot: string }> {
    const mine = current(desk);
    const { owner, gateway } = mine;
    if (secret.by === "passphrase" && secret.passphrase === "") throw failure("passphrase-empty");
    const now = Number((await gateway.time(brief())) / 1_000_000n);
    const slot = owner.newSlot(secret.by === "passphrase", now, crypto.getRandomValues(new Uint8Array(44)));
    const opener = secret.by === "passphrase" ? stretching(desk, secret.passphrase) : typing(secret.code);
    try {
      const { keys, bytes } = await opener.seal(owner, slot);
      // What is there by that name is what an earlier try has stored: what counts is what is read back.
      for (const key of keys) await gateway.create(brief(), key, bytes as Uint8Array<ArrayBuffer>);
      await prove(mine, keys, bytes, opener);
      if (replaces !== null) {
        await remove(gateway, replaces, slot.id);
        // What was opened with the old key is open with this one from now on.
        if (mine.slot === replaces) mine.slot = slot.id;
        if (desk.site.slot === replaces) await desk.opensWith(slot.id, opener.key && { slot: bytes, key: opener.key });
      }
      return { slot: slot.id };
    } finally {
      slot.free();
      opener.end();
    }
  },

  async removeKey(desk: Desk, slot: string): Promise<void> {
    const mine = current(desk);
    const stored = await copies(mine.gateway);
    asked(() => mayRemove(stored, slot, mine.slot));
    await remove(mine.gateway, slot, mine.slot);
    if (desk.site.slot === slot) await desk.opensWith(null, null);
  },
};

/** Seals the owner's secret into a new slot with a typed secret, and opens what is stored with it. */
interface SlotOpener {
  seal(owner: Owner, slot: NewSlot): Promise<{ keys: string[]; bytes: Uint8Array }>;
  open(stored: Uint8Array): Promise<Owner>;
  /** The stretched key, where there is one, until the end. */
  readonly key: Uint8Array | null;
  end(): void;
}

function stretching(desk: Desk, passphrase: string): SlotOpener {
  const stretcher = desk.stretcher();
  let kept: Uint8Array | null = null;
  const stretched = async (slot: Uint8Array): Promise<Uint8Array> => {
    kept?.fill(0);
    return (kept = await stretcher.stretch(slot, passphrase));
  };
  return {
    seal: async (owner, slot) => owner.sealSlot(slot, await stretched(slot.unsealed())),
    open: async (stored) => Owner.openStretched(stored, await stretched(stored)),
    get key() { return kept; },
    end: () => {
      kept?.fill(0);
      stretcher.end();
    },
  };
}

function typing(code: string): SlotOpener {
  return {
    seal: async (owner, slot) => owner.sealRecoverySlot(slot, code),
    open: async (stored) => Owner.openWithRecoveryCode(stored, code),
    key: null,
    end: () => {},
  };
}

/** Reads both copies back and opens them, as the command does: only a key that works may take another one's place. */
async function prove({ gateway, descriptor }: Confirmed, keys: string[], bytes: Uint8Array, opener: SlotOpener): Promise<void> {
  let stored: Uint8Array | null = null;
  for (const key of keys) {
    stored = await gateway.read(brief(), key);
    if (!stored || !isSame(stored, bytes)) throw failure("key-unproven");
  }
  let owner: Owner | null = null;
  try {
    owner = await opener.open(stored!);
    owner.check(descriptor);
  } catch (error) {
    throw (error as { code?: unknown }).code === "no-memory" ? error : failure("key-unproven");
  } finally {
    owner?.free();
  }
}

/** Removes a key; `own` is one that is known to open, of which both copies have to be there. Two people may remove each other's keys at
 * the same moment: each deletes one copy of the other's, looks for both of its own again, and only then deletes the other copy. Whoever
 * deletes later sees one of its own missing, and puts back what it has deleted. */
async function remove(gateway: Gateway, slot: string, own: string): Promise<void> {
  const before = await copies(gateway);
  const isWhole = (there: { key: string }[]) => slotKeys(own).every((copy) => there.some(({ key }) => key === copy));
  if (!isWhole(before)) throw failure("key-gone");
  const [first, ...others] = before.filter(({ key }) => slotKeys(slot).includes(key));
  if (!first) return;
  await gateway.remove(brief(), first.key);
  if (!isWhole(await gateway.list(brief(), "keys/"))) {
    await gateway.create(brief(), first.key, first.bytes as Uint8Array<ArrayBuffer>);
    throw failure("key-gone");
  }
  for (const { key } of others) await gateway.remove(brief(), key);
  // A server that only says so has removed nothing.
  if ((await gateway.list(brief(), "keys/")).some(({ key }) => slotKeys(slot).includes(key))) throw failure("server-failed");
}

async function copies(gateway: Gateway): Promise<{ key: string; bytes: Uint8Array }[]> {
  const found: { key: string; bytes: Uint8Array }[] = [];
  for (const { key } of await gateway.list(brief(), "keys/")) {
    const bytes = await gateway.read(brief(), key);
    if (bytes) found.push({ key, bytes });
  }
  return found;
}

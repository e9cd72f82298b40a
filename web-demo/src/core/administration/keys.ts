//! Keys: the key slots of the repository. Each holds the owner's secret, for who has its passphrase, recovery code or key file.

import type { Key, NewKey } from "../administration";
import { type Gateway, brief } from "../gateway/client";
import { failure } from "../problem";
import { type Confirmed, type Desk, current } from "./confirmed";
import { type NewSlot, Owner, keySlots, mayRemove, recoveryCode, slotKeys } from "./engine";
import { asked, refusal } from "./refusal";

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
        await remove(gateway, replaces);
        // What was opened with the old key is open with this one from now on.
        if (mine.slot === replaces) mine.slot = slot.id;
        if (desk.site.slot === replaces) desk.site.slot = slot.id;
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
    await remove(mine.gateway, slot);
  },
};

/** Seals the owner's secret into a new slot with a typed secret, and opens what is stored with it. */
interface SlotOpener {
  seal(owner: Owner, slot: NewSlot): Promise<{ keys: string[]; bytes: Uint8Array }>;
  open(stored: Uint8Array): Promise<Owner>;
  end(): void;
}

function stretching(desk: Desk, passphrase: string): SlotOpener {
  const stretcher = desk.stretcher();
  const using = async <T>(slot: Uint8Array, use: (key: Uint8Array) => T): Promise<T> => {
    const key = await stretcher.stretch(slot, passphrase);
    try {
      return use(key);
    } finally {
      key.fill(0);
    }
  };
  return {
    seal: (owner, slot) => using(slot.unsealed(), (key) => owner.sealSlot(slot, key)),
    open: (stored) => using(stored, (key) => Owner.openStretched(stored, key)),
    end: () => stretcher.end(),
  };
}

function typing(code: string): SlotOpener {
  return {
    seal: async (owner, slot) => owner.sealRecoverySlot(slot, code),
    open: async (stored) => Owner.openWithRecoveryCode(stored, code),
    end: () => {},
  };
}

/** Reads both copies back and opens them, as the command does: only a key that works may take another one's place. */
async function prove({ gateway, descriptor }: Confirmed, keys: string[], bytes: Uint8Array, opener: SlotOpener): Promise<void> {
  let stored: Uint8Array | null = null;
  for (const key of keys) {
    stored = await gateway.read(brief(), key);
    if (!stored || !isSame(stored, bytes)) throw refusal("key-unproven");
  }
  let owner: Owner | null = null;
  try {
    owner = await opener.open(stored!);
    owner.check(descriptor);
  } catch (error) {
    throw (error as { code?: unknown }).code === "no-memory" ? error : refusal("key-unproven");
  } finally {
    owner?.free();
  }
}

async function remove(gateway: Gateway, slot: string): Promise<void> {
  for (const key of slotKeys(slot)) await gateway.remove(brief(), key);
}

async function copies(gateway: Gateway): Promise<{ key: string; bytes: Uint8Array }[]> {
  const found: { key: string; bytes: Uint8Array }[] = [];
  for (const { key } of await gateway.list(brief(), "keys/")) {
    const bytes = await gateway.read(brief(), key);
    if (bytes) found.push({ key, bytes });
  }
  return found;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

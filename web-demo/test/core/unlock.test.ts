import { describe, expect, test, vi } from "vitest";

import type { Gateway } from "../../src/core/gateway/client";
import type { Database, Device } from "../../src/core/keep/database";
import type { Known } from "../../src/core/coordinator/opened";
import { failure } from "../../src/core/problem";

const RECORD = "clients/c/2";
/** As the enrollment below says. */
const EXPIRES = 1_000;

vi.mock("../../src/core/engine", () => {
  const facts = { client: "c", domain: "d", hostSigns: { requests: false } };
  const client = { facts, check: () => {}, signRequest: () => ({}), unsignedRequest: () => ({}), free: () => {} };
  const enrollment = { facts: { repository: "r", owner: "o", client: "c", role: "write-only", expires: 1_000 }, signRequest: () => ({}), free: () => {} };
  const owner = { check: () => {}, signRequest: () => ({}), free: () => {} };
  const wrong = Object.assign(new Error("wrong"), { code: "wrong-passphrase" });
  const openStretched = (slot: Uint8Array, key: Uint8Array) => {
    if (slot[0] !== key[0]) throw wrong;
    return owner;
  };
  // Slots of the tests: which one it is, and whether it asks for much.
  const slotsToTry = (copies: Uint8Array[], repository: string, isPassphrase: boolean) => {
    const tries = [...copies.keys()].filter((at) => copies[at]![1] === undefined).reverse();
    return { tries: repository === "r" && isPassphrase ? tries : [], isDamaged: false, isCostly: tries.length < copies.length };
  };
  return { Client: { resume: () => client }, Enrollment: { parse: () => enrollment }, Owner: { openStretched, slotsToTry }, Descriptor: class {}, View: class {} };
});

const nobody = () => {
  throw new Error("no passphrase is asked for");
};

const { unlock } = await import("../../src/core/coordinator/unlock");

/** A device whose keys are kept and whose record was not written yet, and a server that knows who has joined. */
async function interrupted(joined: "nobody" | "somebody else" | "nobody in time") {
  const vault = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const iv = new Uint8Array(12);
  const kept = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, vault, new Uint8Array(3)));
  const devices = new Map<string, Device>();
  devices.set("r", { repository: "r", role: "write-only", client: "c", name: "n", kept, iv, vault, signing: null, pending: { key: RECORD, bytes: new Uint8Array(1) } });
  const database = { get: async () => devices.get("r"), put: async (_: string, device: Device) => void devices.set("r", device), remove: async () => void devices.delete("r") };
  let record = joined === "somebody else" ? "theirs" : null;
  let isSigning = false;
  const gateway = {
    get isSigning() {
      return isSigning;
    },
    now: () => EXPIRES + 1,
    signWith: (signer: unknown) => void (isSigning = signer !== null),
    create: async () => {
      if (record) throw failure("enrollment-used");
      if (joined === "nobody in time") throw failure("enrollment-expired");
      record = "ours";
      return true;
    },
    list: async () => {
      if (record !== "ours") throw failure("device-unknown");
      return [];
    },
  };
  const known = { facts: { id: "r", owner: "o" }, descriptor: {} } as unknown as Known;
  const open = (by: Parameters<typeof unlock>[0]) => unlock(by, known, gateway as unknown as Gateway, database as unknown as Database, null, nobody);
  return { open, devices, record: () => record };
}

describe("an enrollment that was interrupted before its record was written", () => {
  test("asks for its line when the page is opened again, and its keys stay", async () => {
    const { open, devices } = await interrupted("nobody");
    await expect(open({ by: "device" })).rejects.toMatchObject({ problem: { code: "enrollment-unfinished" } });
    expect(devices.get("r")).toMatchObject({ pending: { key: RECORD } });
  });

  test("goes on with its line", async () => {
    const { open, devices, record } = await interrupted("nobody");
    await open({ by: "device" }).catch(() => {});
    const opened = await open({ by: "enrollment", line: "line" });
    expect([opened.session.role, record()]).toEqual(["write-only", "ours"]);
    expect(devices.get("r")).toMatchObject({ pending: null });
  });

  test("is over when somebody else has joined with it", async () => {
    const { open, devices } = await interrupted("somebody else");
    await expect(open({ by: "enrollment", line: "line" })).rejects.toMatchObject({ problem: { code: "enrollment-used" } });
    expect(devices.size).toBe(0);
  });

  test("is over when it has expired, and a new one can be used", async () => {
    const { open, devices } = await interrupted("nobody in time");
    await expect(open({ by: "enrollment", line: "line" })).rejects.toMatchObject({ problem: { code: "enrollment-expired" } });
    expect(devices.size).toBe(0);
  });
});

test("an enrollment that has expired by the server's clock asks for nothing and keeps nothing", async () => {
  const { open, devices } = await interrupted("nobody");
  devices.clear();
  await expect(open({ by: "enrollment", line: "line", passphrase: "p" })).rejects.toMatchObject({ problem: { code: "enrollment-expired" } });
  expect(devices.size).toBe(0);
});

describe("a passphrase", () => {
  const known = { facts: { id: "r", owner: "o", passphraseOpens: true }, descriptor: {} } as unknown as Known;
  const database = { get: async () => undefined } as unknown as Database;
  const gateway = {
    signWith: () => {},
    list: async () => ["keys/1/a", "keys/2/a", "keys/3/a"].map((key) => ({ key })),
    read: async (_: unknown, key: string) => new Uint8Array([Number(key.split("/")[1])]),
  } as unknown as Gateway;

  /** A stretcher whose passphrases are the first byte of the slot that they open. */
  function stretching(fails: { code: string } | null = null) {
    const keys: Uint8Array[] = [];
    const seen = { keys, ended: 0 };
    const stretch = async (_: Uint8Array, passphrase: string) => {
      if (fails) throw fails;
      keys.push(new Uint8Array([Number(passphrase), 7]));
      return keys.at(-1)! as Uint8Array<ArrayBuffer>;
    };
    const open = (passphrase: string) =>
      unlock({ by: "passphrase", passphrase }, known, gateway, database, null, () => ({ stretch, end: () => void (seen.ended += 1) }));
    return { open, seen };
  }

  test("is stretched for each slot until one opens, by somebody who ends then, and what came of it is overwritten", async () => {
    const { open, seen } = stretching();
    expect((await open("2")).session.role).toBe("full");
    expect(seen).toEqual({ keys: [new Uint8Array(2), new Uint8Array(2)], ended: 1 });
  });

  test("is tried in the engine's order, and never for a slot that asks for much", async () => {
    const costly = { ...gateway, read: async (_: unknown, key: string) => new Uint8Array(key === "keys/1/a" ? [1, 1] : [Number(key.split("/")[1])]) } as unknown as Gateway;
    const tried: number[] = [];
    const stretch = async (slot: Uint8Array, passphrase: string) => {
      tried.push(slot[0]!);
      return new Uint8Array([Number(passphrase)]);
    };
    const opened = unlock({ by: "passphrase", passphrase: "1" }, known, costly, database, null, () => ({ stretch, end: () => {} }));
    await expect(opened).rejects.toMatchObject({ problem: { code: "slots-costly" } });
    expect(tried).toEqual([3, 2]);
  });

  test("that opens nothing is told, and nobody goes on stretching", async () => {
    const { open, seen } = stretching();
    await expect(open("9")).rejects.toMatchObject({ problem: { code: "passphrase-wrong" } });
    expect(seen).toEqual({ keys: [new Uint8Array(2), new Uint8Array(2), new Uint8Array(2)], ended: 1 });
  });

  test("that cannot be stretched is not told as a wrong one", async () => {
    const { open, seen } = stretching({ code: "no-memory" });
    await expect(open("1")).rejects.toEqual({ code: "no-memory" });
    expect(seen.ended).toBe(1);
  });
});

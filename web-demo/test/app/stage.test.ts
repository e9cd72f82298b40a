import { describe, expect, test } from "vitest";
import { App } from "../../src/app/app";
import { Leaving } from "../../src/app/leaving";
import { said, say } from "../../src/app/parts/say";
import { Staging } from "../../src/app/stage";
import type { Environment } from "../../src/core/api";
import { failure, problem } from "../../src/core/problem";
import { ENVIRONMENT, FULL, scripted, WRITE_ONLY } from "./harness/scripted";

const locked = (other = {}) => scripted(other, null);

const settled = () => new Promise((done) => setTimeout(done));

/** A browser that counts how often it loads the page anew, and waits until it is told to. */
function browser(state: { isServed?: boolean; isTyping?: boolean } = {}) {
  const notes = new Map<string, string>();
  let go: () => void = () => undefined;
  const told = {
    state: { isServed: true, isTyping: false, ...state },
    reloads: 0,
    pass: async () => { go(); await settled(); },
    surroundings: {
      notes: { getItem: (key: string) => notes.get(key) ?? null, setItem: (key: string, value: string) => void notes.set(key, value), removeItem: (key: string) => void notes.delete(key) },
      reload: () => { told.reloads += 1; },
      isServed: async () => told.state.isServed,
      isTyping: () => told.state.isTyping,
      wait: () => new Promise<void>((pass) => { go = pass; }),
    },
  };
  return told;
}

/** An open page in such a browser. */
async function opened(state: { isServed?: boolean } = {}) {
  const [core, told] = [scripted(), browser(state)];
  const app = new App(core, new Leaving(told.surroundings));
  core.subscribe((event) => { app.hear(event); });
  await app.staging.start();
  return { app, core, told };
}

describe("the page", () => {
  test("says what the browser lacks before it asks for anything", async () => {
    const staging = new Staging(locked({ environment: async () => ({ ...ENVIRONMENT, missing: ["webcrypto"] }) }));
    await staging.start();
    expect(staging.stage.value).toEqual({ at: "unsupported", missing: ["webcrypto"] });
  });
  test("says that the server is away, and asks again", async () => {
    let away = true;
    const { problem } = failure("offline");
    const staging = new Staging(locked({ environment: async () => (away ? { ...ENVIRONMENT, server: { state: "unreachable", problem } } : ENVIRONMENT) }));
    await staging.start();
    expect(staging.stage.value).toMatchObject({ at: "unreachable", problem });
    away = false;
    await staging.start();
    expect(staging.stage.value.at).toBe("locked");
  });
  test("opens with a passphrase, and stays locked with a wrong one", async () => {
    const staging = new Staging(locked({ unlock: async (secret: { by: string; passphrase?: string }) => {
      if (secret.passphrase !== "right") throw failure("passphrase-wrong");
      return FULL;
    } }));
    await staging.start();
    await staging.unlock({ by: "passphrase", passphrase: "left" });
    expect(staging.stage.value).toMatchObject({ at: "locked", opening: false, problem: { code: "passphrase-wrong" } });
    await staging.unlock({ by: "passphrase", passphrase: "right" });
    expect(staging.stage.value).toMatchObject({ at: "open", session: FULL });
  });
  test("takes a passphrase before the server has answered, and opens with it afterwards", async () => {
    let answer = (_: Environment): void => undefined;
    const given: unknown[] = [];
    const staging = new Staging(locked({
      environment: (early: (environment: Environment) => void) => (early({ ...ENVIRONMENT, server: { state: "asking" } }), new Promise<Environment>((resolve) => { answer = resolve; })),
      unlock: async (secret: unknown) => (given.push(secret), FULL),
    }));
    const started = staging.start();
    expect(staging.stage.value).toMatchObject({ at: "locked", opening: false });
    const opening = staging.unlock({ by: "passphrase", passphrase: "right" });
    await settled();
    expect(staging.stage.value).toMatchObject({ at: "locked", opening: true });
    expect(given).toEqual([]);
    answer(ENVIRONMENT);
    await Promise.all([started, opening]);
    expect(staging.stage.value).toMatchObject({ at: "open", environment: ENVIRONMENT, session: FULL });
  });
  test("gives a passphrase to nobody if the server is away after all", async () => {
    const { problem } = failure("offline");
    const given: unknown[] = [];
    const staging = new Staging(locked({
      environment: async (early: (environment: Environment) => void) => (early({ ...ENVIRONMENT, server: { state: "asking" } }), await settled(), { ...ENVIRONMENT, server: { state: "unreachable", problem } }),
      unlock: async (secret: unknown) => (given.push(secret), FULL),
    }));
    await Promise.all([staging.start(), staging.unlock({ by: "passphrase", passphrase: "right" })]);
    expect(staging.stage.value).toMatchObject({ at: "unreachable", problem });
    expect(given).toEqual([]);
  });
  test("keeps nothing of what was typed", async () => {
    const staging = new Staging(locked({ unlock: async () => { throw failure("passphrase-wrong"); } }));
    await staging.start();
    await staging.unlock({ by: "passphrase", passphrase: "correct horse battery" });
    expect(JSON.stringify(staging.stage.value)).not.toContain("horse");
  });
  test("opens by itself on a write-only device, but not where an enrollment waits", async () => {
    const device = { role: "write-only" as const, name: "camera" };
    const alone = new Staging(locked({ environment: async () => ({ ...ENVIRONMENT, device }), unlock: async () => WRITE_ONLY }));
    await alone.start();
    expect(alone.stage.value.at).toBe("open");
    const enrolling = new Staging(locked({ environment: async () => ({ ...ENVIRONMENT, device, hasEnrollmentLink: true }), unlock: async () => WRITE_ONLY }));
    await enrolling.start();
    expect(enrolling.stage.value.at).toBe("locked");
  });
  test("remembers after joining that it is a device now", async () => {
    const staging = new Staging(locked({ environment: async () => ({ ...ENVIRONMENT, hasEnrollmentLink: true }), unlock: async () => WRITE_ONLY }));
    await staging.start();
    await staging.unlock({ by: "link" });
    expect(staging.stage.value).toMatchObject({ at: "open", environment: { hasEnrollmentLink: false, device: { role: "write-only" } } });
  });
  test("asks for the passphrase too where a full device was enrolled, and keeps the enrollment meanwhile", async () => {
    const asked: object[] = [];
    const staging = new Staging(locked({ unlock: async (secret: { by: string; passphrase?: string }) => {
      asked.push(secret);
      if (!secret.passphrase) throw failure("passphrase-needed");
      if (secret.passphrase !== "right") throw failure("passphrase-wrong");
      return FULL;
    } }));
    await staging.start();
    await staging.unlock({ by: "enrollment", line: "COPAL-JOIN-1-ABC" });
    expect(staging.stage.value).toMatchObject({ at: "locked", problem: null, environment: { hasEnrollmentLink: true, enrollsAs: "full" } });
    await staging.unlock({ by: "link", passphrase: "left" });
    expect(staging.stage.value).toMatchObject({ at: "locked", problem: { code: "passphrase-wrong" }, environment: { hasEnrollmentLink: true } });
    await staging.unlock({ by: "link", passphrase: "right" });
    expect(staging.stage.value).toMatchObject({ at: "open", session: FULL, environment: { hasEnrollmentLink: false, enrollsAs: null } });
    expect(JSON.stringify(staging.stage.value)).not.toContain("COPAL-JOIN");
    expect(asked.length).toBe(3);
  });
  test("takes an enrollment that comes while it is there, at once if it is locked and else once it is", async () => {
    const staging = new Staging(locked());
    await staging.start();
    staging.hear({ type: "enrollment", enrollsAs: "write-only" });
    expect(staging.stage.value).toMatchObject({ at: "locked", environment: { hasEnrollmentLink: true, enrollsAs: "write-only" } });
    const open = new Staging(scripted());
    await open.start();
    open.hear({ type: "enrollment", enrollsAs: "full" });
    expect(open.stage.value.at).toBe("open");
    open.hear({ type: "locked", reason: "asked" });
    expect(open.stage.value).toMatchObject({ at: "locked", environment: { hasEnrollmentLink: true, enrollsAs: "full" } });
  });
  test("warns before it locks, and says why it did", async () => {
    const staging = new Staging(scripted());
    await staging.start();
    staging.hear({ type: "lock-soon", secondsLeft: 30 });
    expect(staging.lockSoon.value).toBe(30);
    staging.hear({ type: "locked", reason: "idle" });
    expect(staging.lockSoon.value).toBeNull();
    expect(staging.stage.value).toMatchObject({ at: "locked", why: "idle" });
  });
  test("says after it was loaded anew why it was locked, and does not open by itself", async () => {
    const staging = new Staging(locked({ environment: async () => ({ ...ENVIRONMENT, device: { role: "write-only", name: "Camera" } }) }), "asked");
    await staging.start();
    expect(staging.stage.value).toMatchObject({ at: "locked", why: "asked", opening: false });
  });
  test.each(["asked", "idle"] as const)("is loaded anew after a lock (%s), and knows why", async (reason) => {
    const { app, core, told } = await opened();
    core.tell({ type: "locked", reason });
    await settled();
    expect(told.reloads).toBe(1);
    expect([new Leaving(told.surroundings).why(), new Leaving(told.surroundings).why()]).toEqual([reason, "fresh"]);
    expect(app.staging.stage.value.at).toBe("locked");
  });
  test("is not loaded anew after a failure, and shows what it was", async () => {
    const { app, core, told } = await opened();
    core.tell({ type: "locked", reason: "failed", problem: problem("internal") });
    await settled();
    expect(told.reloads).toBe(0);
    expect(app.staging.stage.value).toMatchObject({ at: "locked", why: "failed", problem: { code: "internal" } });
  });
  test("is not loaded anew while an enrollment waits in it", async () => {
    const { core, told } = await opened();
    core.tell({ type: "enrollment", enrollsAs: "full" });
    core.tell({ type: "locked", reason: "asked" });
    await settled();
    expect(told.reloads).toBe(0);
  });
  test("is loaded anew once its server is back and nobody types", async () => {
    const { core, told } = await opened({ isServed: false });
    core.tell({ type: "locked", reason: "idle" });
    await settled();
    expect(told.reloads).toBe(0);
    told.state = { isServed: true, isTyping: true };
    await told.pass();
    expect(told.reloads).toBe(0);
    told.state = { isServed: true, isTyping: false };
    await told.pass();
    expect(told.reloads).toBe(1);
  });
  test("that was opened again is not loaded anew", async () => {
    const { app, core, told } = await opened({ isServed: false });
    core.tell({ type: "locked", reason: "idle" });
    await settled();
    await app.staging.unlock({ by: "passphrase", passphrase: "right" });
    told.state = { isServed: true, isTyping: false };
    await told.pass();
    expect(told.reloads).toBe(0);
  });
  test("lets go of every name it showed when it locks", async () => {
    const app = new App(scripted(), new Leaving(browser().surroundings));
    await app.staging.start();
    await app.loadSnapshots();
    await app.loadStatus();
    await app.listing.open("snapshot-0", "");
    app.listing.toggle("f-README.txt");
    say("README.txt: done");
    await app.lock();
    expect(app.snapshots.value).toEqual({ at: "asking" });
    expect(app.status.value).toEqual({ at: "asking" });
    expect(app.listing.listed.value.entries).toEqual([]);
    expect(app.listing.selected.value.size).toBe(0);
    expect(said.value).toBe("");
  });
});


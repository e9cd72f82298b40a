import { expect, test } from "vitest";

import { failure, problem } from "../../src/core/problem";
import { Devices } from "../../src/app/devices";
import { DEVICES, scripted } from "./harness/scripted";

const DESK = DEVICES[1]!;
const GOOD = { number: 42, hash: "9f3c11a0".repeat(8), time: 1 };

test("a revocation names what was shown, and nothing is signed before that is known", async () => {
  const signed: unknown[] = [];
  let answer: (good: typeof GOOD) => void = () => {};
  const devices = new Devices(scripted({ lastGood: () => new Promise((resolve) => { answer = resolve; }), revokeDevice: async (...args) => void signed.push(args) }));
  const asking = devices.begin("revoke", DESK);
  await devices.sign("");
  expect(signed).toEqual([]);
  answer(GOOD);
  await asking;
  await devices.sign("");
  expect(signed).toEqual([[DESK.client, GOOD]]);
  expect(devices.question.value).toBeNull();
});

test("where it cannot be told what counts, nothing is revoked", async () => {
  const signed: unknown[] = [];
  const devices = new Devices(scripted({ lastGood: async () => { throw failure("server-gone"); }, revokeDevice: async (...args) => void signed.push(args) }));
  await devices.begin("revoke", DESK);
  await devices.sign("");
  expect(signed).toEqual([]);
});

test("a failure stays in the question, and a lock forgets names", async () => {
  const devices = new Devices(scripted({ renameDevice: async () => { throw failure("busy"); } }));
  await devices.load();
  await devices.begin("rename", DESK);
  await devices.sign("attic");
  expect(devices.question.value).toMatchObject({ isSigning: false, problem: problem("busy") });
  devices.forget();
  expect([devices.list.value, devices.question.value]).toEqual([{ at: "asking" }, null]);
});

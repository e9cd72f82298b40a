import { expect, test } from "vitest";
import { byDevice, cost, Growing } from "../../src/app/growing";
import { status } from "../../src/words/status";
import { FULL, GROWN, scripted } from "./harness/scripted";

test("series stand with their devices, and the sizes of a device are the sums", () => {
  const devices = byDevice(GROWN);
  expect(devices.map(({ device, series }) => [device, series.length])).toEqual([["desk", 1], ["Firefox on the laptop", 2], ["Studio camera (write-only)", 1]]);
  const own = devices.find(({ client }) => client === FULL.client)!;
  expect(own.points.at(-1)!.bytes).toBeCloseTo(own.bytes, 0);
  expect(own.points).toHaveLength(40);
  const at = (time: number, bytes: number) => ({ time, bytes });
  const two = [{ ...GROWN[0]!, points: [at(1, 10), at(3, 15)] }, { ...GROWN[0]!, points: [at(2, 1), at(3, 2)] }];
  expect(byDevice(two)[0]!.points).toEqual([at(1, 10), at(2, 11), at(3, 17)]);
});

test("a cost is in cents, and what is little is not nothing", () => {
  const { growth } = status;
  expect(growth.cost(cost(100 * 2 ** 30, 0.023))).toBe("$2.30");
  expect(growth.costAtMost(cost(100 * 2 ** 30, 0.023))).toBe("up to $2.30 a month");
  expect([growth.cost(cost(2 ** 20, 0.023)), growth.costAtMost(cost(2 ** 20, 0.023))]).toEqual(["under $0.01", "under $0.01 a month"]);
  expect(growth.cost(cost(0, 0.023))).toBe("$0.00");
  expect(growth.cost(cost(2 ** 40, 0))).toBe("$0.00");
});

test("what comes after a lock is dropped, and the work ends", async () => {
  const growing = new Growing(scripted());
  const asked = growing.ask();
  growing.forget();
  await asked;
  expect(growing.state.value.at).toBe("unasked");
  await growing.ask();
  expect(growing.state.value.at).toBe("here");
});

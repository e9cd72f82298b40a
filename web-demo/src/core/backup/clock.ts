//! Clock: a snapshot bears this device's time, by which rules forget it: a year too early is a year too soon.

import type { Gateway } from "../gateway/client";
import type { Patience } from "../gateway/retry";
import { failure } from "../problem";

/** Fails if this device's clock is far from the server's. Reads it once the server has answered: without a network that may take hours. */
export async function compareClocks(gateway: Gateway, now: () => number, patience: Patience): Promise<void> {
  const there = Number((await gateway.time(patience)) / 1_000_000n);
  if (Math.abs(there - now()) > CLOCKS_APART) throw failure("clock-wrong");
}

/** Milliseconds between the clocks beyond which nothing is dated. */
const CLOCKS_APART = 3_600_000;

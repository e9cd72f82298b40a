//! Answer: what the service says to a manifest, waited for.

import { receipt } from "../engine";
import type { Gateway } from "../gateway/client";
import type { Patience } from "../gateway/retry";
import type { Control } from "../coordinator/control";

/** Waits so many milliseconds for the answer to a client's manifest, or until nobody wants it any more. */
export async function answerTo(gateway: Gateway, client: string, number: number, wait: number, control: Control, patience: () => Patience): Promise<"accepted" | "rejected" | "waiting"> {
  const until = performance.now() + wait;
  for (let pause = 100; ; pause = Math.min(pause * 1.5, 3_000)) {
    const bytes = await gateway.receipt(patience(), client, number);
    if (bytes) return receipt(client, number, bytes).outcome;
    if (performance.now() + pause > until || control.isCancelled) return "waiting";
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Papers } from "../../src/app/papers/papers";
import { failure } from "../../src/core/problem";

/** The worker, as far as the page sees it. */
class Scripted {
  static newest: Scripted;
  sent: { type: string }[] = [];
  isEnded = false;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: (() => void) | null = null;
  constructor() {
    Scripted.newest = this;
  }
  postMessage(message: { type: string }): void {
    this.sent.push(message);
  }
  terminate(): void {
    this.isEnded = true;
  }
  say(data: unknown): void {
    this.onmessage!({ data });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", Scripted);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const listener = () => ({ opened: vi.fn(), drawn: vi.fn(), failed: vi.fn() });

test("a document is read where its reader asks, and a slow line is no fault of it", async () => {
  const told = listener();
  let give: (bytes: Uint8Array) => void = () => {};
  new Papers(5_000, () => new Promise((resolve) => (give = resolve)), told);
  const worker = Scripted.newest;
  worker.say({ type: "want", start: 1_000, end: 2_000 });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(told.failed).not.toHaveBeenCalled();
  give(new Uint8Array(1_000));
  await vi.advanceTimersByTimeAsync(0);
  expect(worker.sent).toMatchObject([{ type: "open", total: 5_000 }, { type: "bytes", start: 1_000 }]);
  worker.say({ type: "opened", pages: 3 });
  expect(told.opened).toHaveBeenCalledWith(3);
});

test("a document that keeps its reader busy without an end is given up, and its worker ended", async () => {
  const told = listener();
  new Papers(5_000, async () => new Uint8Array(), told).draw(1, 800);
  await vi.advanceTimersByTimeAsync(20_001);
  expect(told.failed).toHaveBeenCalledWith({ why: "strange" });
  expect(Scripted.newest.isEnded).toBe(true);
});

test("a damaged document says so, and one with a password says that", async () => {
  const told = listener();
  new Papers(5_000, () => Promise.reject(failure("damaged", "a.pdf")), told);
  Scripted.newest.say({ type: "want", start: 0, end: 10 });
  await vi.advanceTimersByTimeAsync(0);
  expect(told.failed).toHaveBeenCalledWith({ why: "problem", problem: expect.objectContaining({ code: "damaged", subject: "a.pdf" }) });
  expect(Scripted.newest.isEnded).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told.failed).toHaveBeenCalledTimes(1);
  new Papers(5_000, async () => new Uint8Array(), told);
  Scripted.newest.say({ type: "failed", isLocked: true });
  expect(told.failed).toHaveBeenLastCalledWith({ why: "locked" });
});

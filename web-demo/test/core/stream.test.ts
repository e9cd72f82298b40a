import { expect, test } from "vitest";

import type { FromWorker } from "../../src/core/work/protocol";
import { Stream } from "../../src/core/work/stream";

const SPENT = { read: 0, hash: 0, compress: 0, seal: 0 };

function window(at: number): FromWorker {
  return { type: "window", job: 1, ids: new Uint8Array([at]), lengths: new Uint32Array([1]), bytes: new Uint8Array([at]), spent: SPENT };
}

function begun() {
  const told: string[] = [];
  const stream = new Stream({ more: () => told.push("more"), drop: () => told.push("drop"), end: () => told.push("end") });
  return { stream, told };
}

test("windows that came before anybody asked are given in order, and the worker reads on as they are taken", async () => {
  const { stream, told } = begun();
  [window(1), window(2), { type: "end", job: 1, size: 2, reason: null } as const].forEach((answer) => stream.take(answer));
  const taken: [number, string[]][] = [];
  for await (const { ids } of stream) taken.push([ids[0]!, [...told]]);
  expect(taken).toEqual([[1, []], [2, ["more"]]]);
  expect(told).toEqual(["more", "more", "end"]);
});

test("whoever asks first waits for what comes", async () => {
  const { stream } = begun();
  const next = stream.next();
  stream.take(window(3));
  expect((await next).value?.ids).toEqual(new Uint8Array([3]));
});

test("a stream that is left is given up once, also before its first window was asked for", async () => {
  for (const asked of [false, true]) {
    const { stream, told } = begun();
    stream.take(window(1));
    if (asked) for await (const _ of stream) break;
    else await stream.return();
    await stream.return();
    stream.take(window(2));
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(told).toEqual(["drop", "end"]);
  }
});

test("why reading ended is told by the name of the browser's exception, and what broke the worker as an error", async () => {
  const first = begun();
  first.stream.take({ type: "end", job: 1, size: 0, reason: "NotReadableError" });
  await expect(first.stream.next()).rejects.toMatchObject({ name: "NotReadableError" });
  const second = begun();
  second.stream.take({ type: "failed", job: 1, reason: "AbortError" });
  await expect(second.stream.next()).rejects.toThrow("AbortError");
  expect([first.told, second.told]).toEqual([["end"], ["end"]]);
});

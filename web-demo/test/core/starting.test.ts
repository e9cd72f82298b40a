import { expect, test } from "vitest";

import { Starting } from "../../src/core/coordinator/starting";
import { failure } from "../../src/core/problem";

const MODULE = {} as WebAssembly.Module;

/** An engine whose starts end as `outcomes` say, one after the other: with an error, or well. */
function engine(...outcomes: (Error | null)[]) {
  let starts = 0;
  const starting = new Starting(async () => {
    const error = outcomes[starts++];
    if (error) throw error;
    return MODULE;
  });
  return { starting, starts: () => starts };
}

test("the engine starts once, whoever asks", async () => {
  const { starting, starts } = engine(null);
  expect(await Promise.all([starting.begun(), starting.begun()])).toEqual([MODULE, MODULE]);
  await starting.begun();
  expect(starts()).toBe(1);
});

test("an engine that could not be had is had again when it is asked for the next time", async () => {
  const { starting, starts } = engine(failure("server-gone"), null);
  const asked = [starting.begun(), starting.begun()];
  for (const one of asked) await expect(one).rejects.toMatchObject({ problem: { code: "server-gone" } });
  expect(await starting.begun()).toBe(MODULE);
  expect(starts()).toBe(2);
});

test("an engine that does not compile is told as a browser that lacks something", async () => {
  const { starting } = engine(new WebAssembly.CompileError("unknown instruction"));
  await expect(starting.begun()).rejects.toMatchObject({ problem: { code: "unsupported" } });
});

test("a problem that has a name keeps it", async () => {
  const { starting } = engine(failure("browser-full"));
  await expect(starting.begun()).rejects.toMatchObject({ problem: { code: "browser-full" } });
});

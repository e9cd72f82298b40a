import { expect, test } from "vitest";

import { records } from "../../src/core/coordinator/opened";
import type { Gateway } from "../../src/core/gateway/client";

const [FIRST, COPY, SECOND] = ["clients/c/00000000000000000001", "clients/c/00000000000000000001.b", "clients/c/00000000000000000002"];

function gateway(objects: Record<string, number>): Gateway {
  return {
    list: async (_: unknown, prefix: string) => Object.keys(objects).filter((key) => key.startsWith(prefix)).map((key) => ({ key })),
    read: async (_: unknown, key: string) => (objects[key] ? new Uint8Array([objects[key]]) : null),
  } as unknown as Gateway;
}

test("both copies of a client's record are read, under the number of their version", async () => {
  const found = await records(gateway({ [FIRST!]: 1, [COPY!]: 2, [SECOND!]: 3 }), "c");
  expect(found).toEqual([[1, new Uint8Array([1])], [1, new Uint8Array([2])], [2, new Uint8Array([3])]]);
});

test("a copy stands for what is gone, and other names for nothing", async () => {
  const found = await records(gateway({ [COPY!]: 2, [`${COPY}.b`]: 4, "clients/c/notes": 5 }), "c");
  expect(found).toEqual([[1, new Uint8Array([2])]]);
});

import { describe, expect, test } from "vitest";
import { alreadyIn, freeFolder } from "../../src/core/restore/onto";

/** A folder that has some names, as browsers give it. */
function folder(...names: string[]) {
  const made: string[] = [];
  const handle = {
    getFileHandle: async (name: string) => {
      if (/[\\/]/.test(name)) throw new TypeError("Name is not allowed.");
      if (!names.includes(name)) throw new DOMException("none", "NotFoundError");
      if (name.startsWith("folder")) throw new DOMException("a folder", "TypeMismatchError");
      return {};
    },
    getDirectoryHandle: async (name: string) => (made.push(name), { name }),
  };
  return { handle: handle as unknown as FileSystemDirectoryHandle, made };
}

describe("what a picked folder has already", () => {
  test("are files and folders; what is no name there is not among them", async () => {
    expect(await alreadyIn(folder("a.txt", "folder").handle, ["a.txt", "b.txt", "folder", "c\\d"])).toEqual(["a.txt", "folder"]);
  });
});

describe("a new folder for what is restored", () => {
  const at = new Date(2026, 10, 4, 9, 5);
  test("is called by the time", async () => {
    expect((await freeFolder(folder().handle, at)).name).toBe("Restored 2026-11-04 09.05");
  });
  test("takes no name that is taken", async () => {
    expect((await freeFolder(folder("Restored 2026-11-04 09.05", "Restored 2026-11-04 09.05 (2)").handle, at)).name).toBe("Restored 2026-11-04 09.05 (3)");
  });
});

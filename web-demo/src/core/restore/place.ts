//! Place: where the bytes of a file or zip go.

import type { Private } from "../keep/private";
import { failure } from "../problem";

/** A place for bytes: a file in private storage, or one that a person has picked. */
export interface Place {
  write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
  drop(): Promise<void>;
}

/** A file in private storage, from where it goes to the browser's downloads. */
export async function stagedPlace(files: Private, name: string): Promise<Place> {
  const file = await files.create(name);
  await file.truncate(0);
  let end = 0;
  return {
    write: (bytes, at) => {
      end = Math.max(end, at + bytes.length);
      return file.write(bytes, at);
    },
    truncate: (length) => {
      end = length;
      return file.truncate(length);
    },
    close: async () => {
      await file.flush();
      await file.close();
      // A private window of Chromium takes more than its memory holds without a word, and keeps a part of it.
      if ((await files.file(name)).size !== end) throw failure("browser-full");
    },
    drop: async () => {
      await file.close();
      await files.remove(name);
    },
  };
}

/** A file that a person has picked: the browser puts it in place when it is closed. */
export async function pickedPlace(handle: FileSystemFileHandle): Promise<Place> {
  const stream = await handle.createWritable();
  return {
    write: (bytes, at) => stream.write({ type: "write", position: at, data: bytes }),
    truncate: (length) => stream.truncate(length),
    close: () => stream.close(),
    drop: () => stream.abort(),
  };
}

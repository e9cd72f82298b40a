//! Private files: what this browser keeps in its origin-private file system. All of it is sealed, opaque, or on its way to
//! the person's own downloads; all of it may be lost.

import { failure } from "../problem";

/** Files below one directory. Names may hold anything: they are written in a way that every file system takes. */
export interface Private {
  read(name: string): Promise<Uint8Array<ArrayBuffer> | null>;
  write(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Names, in no order. */
  list(): Promise<string[]>;
  /** A new file that is written piece by piece. */
  create(name: string): Promise<PrivateFile>;
  /** A file's content as the browser hands it on. */
  file(name: string): Promise<File>;
}

/** A file that is being written. */
export interface PrivateFile {
  write(bytes: Uint8Array, at: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** What is written is there after a crash. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** The origin-private file system, in a worker. */
export async function openPrivate(directory: string): Promise<Private> {
  let folder = await navigator.storage.getDirectory();
  for (const name of directory.split("/")) folder = await folder.getDirectoryHandle(name, { create: true });
  return new Opfs(folder);
}

class Opfs implements Private {
  constructor(private readonly folder: FileSystemDirectoryHandle) {}

  async read(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const handle = await this.#find(name);
    return handle && new Uint8Array(await (await handle.getFile()).arrayBuffer());
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    // Under another name until it is whole.
    const unfinished = await this.create(`${name}~`);
    try {
      await unfinished.write(bytes, 0);
      await unfinished.truncate(bytes.length);
      await unfinished.flush();
    } finally {
      await unfinished.close();
    }
    const handle = await this.folder.getFileHandle(encode(`${name}~`));
    if (typeof handle.move === "function") {
      await handle.move(encode(name));
      return;
    }
    const file = await this.create(name);
    try {
      await file.truncate(0);
      await file.write(bytes, 0);
      await file.flush();
    } finally {
      await file.close();
    }
    await this.remove(`${name}~`);
  }

  async remove(name: string): Promise<void> {
    await this.folder.removeEntry(encode(name)).catch(() => {});
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.folder.keys()) names.push(decodeURIComponent(name));
    return names;
  }

  async create(name: string): Promise<PrivateFile> {
    const handle = await this.folder.getFileHandle(encode(name), { create: true });
    const access = await handle.createSyncAccessHandle();
    return {
      write: async (bytes, at) => {
        for (let done = 0; done < bytes.length; ) {
          const written = access.write(bytes.subarray(done), { at: at + done });
          if (written === 0) throw new DOMException("no room", "QuotaExceededError");
          done += written;
        }
      },
      truncate: async (length) => access.truncate(length),
      flush: async () => access.flush(),
      close: async () => access.close(),
    };
  }

  async file(name: string): Promise<File> {
    return (await this.folder.getFileHandle(encode(name))).getFile();
  }

  async #find(name: string): Promise<FileSystemFileHandle | null> {
    return this.folder.getFileHandle(encode(name)).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === "NotFoundError") return null;
      throw error;
    });
  }
}

function encode(name: string): string {
  return encodeURIComponent(name).replace(/\*/g, "%2A");
}

declare global {
  interface FileSystemFileHandle {
    /** Renames; in the origin-private file system of current browsers. */
    move?(name: string): Promise<void>;
    createSyncAccessHandle(): Promise<FileSystemSyncAccessHandle>;
  }
  interface FileSystemSyncAccessHandle {
    write(bytes: ArrayBufferView, options?: { at?: number }): number;
    truncate(length: number): void;
    flush(): void;
    close(): void;
    getSize(): number;
  }
}

/** Where the browser has no private files, nothing is kept: the next run reads every file again. */
export const NOTHING_KEPT: Private = {
  read: async () => null,
  write: async () => {},
  remove: async () => {},
  list: async () => [],
  create: () => Promise.reject(failure("browser-full")),
  file: () => Promise.reject(failure("browser-full")),
};

//! Onto: a folder that a person has picked to restore into, and what it has already.

import { failure } from "../problem";
import { isThere } from "./targets";

/** Asks for a folder; null if the person changed their mind. */
export async function pickTarget(): Promise<FileSystemDirectoryHandle | null> {
  try {
    return await showDirectoryPicker({ id: "copal-restore", mode: "readwrite" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw failure("target-failed");
  }
}

/** Which of some names a folder has. What is no name for the browser is not there. */
export async function alreadyIn(folder: FileSystemDirectoryHandle, names: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const isFound = await isThere(folder, name).catch((error: unknown) => {
      if (error instanceof TypeError) return false;
      throw failure("target-failed");
    });
    if (isFound) found.push(name);
  }
  return found;
}

/** Makes a folder that was not there, called by the time: "Restored 2026-11-24 10.05", "Restored 2026-11-24 10.05 (2)". */
export async function freeFolder(parent: FileSystemDirectoryHandle, now: Date): Promise<FileSystemDirectoryHandle> {
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const name = `Restored ${day} ${two(now.getHours())}.${two(now.getMinutes())}`;
  for (let copy = 1; copy <= COPIES; copy++) {
    const tried = copy === 1 ? name : `${name} (${copy})`;
    if (!(await isThere(parent, tried))) return parent.getDirectoryHandle(tried, { create: true });
  }
  throw failure("target-failed");
}

/** Names that are tried. */
const COPIES = 1_000;

//! Shown: what Chromium hides from who opens a directory by a handle. It leaves out names that are not safe on every system,
//! such as `a?b`, and says nothing of it; a list of the same directory has them.

/** Whether a directory's handle shows all that its entry lists, to the ground. */
export async function isShownWhole(handle: FileSystemDirectoryHandle, entry: FileSystemDirectoryEntry): Promise<boolean> {
  let hidden = false;
  const waiting: [FileSystemDirectoryHandle, FileSystemDirectoryEntry][] = [[handle, entry]];
  const lane = async () => {
    for (let next = waiting.pop(); next && !hidden; next = waiting.pop()) {
      const [shown, listed] = await Promise.all([byHandle(next[0]), childrenOf(next[1]).catch(() => [])]);
      // What cannot be read the backup names.
      if (shown === null) continue;
      for (const child of listed) {
        // A name that is not text: both ways give it an empty name and no content, and the backup says so.
        if (child.name === "") continue;
        const same = shown.get(child.name);
        if (!same) hidden = true;
        else if (same.kind === "directory" && child.isDirectory) waiting.push([same as FileSystemDirectoryHandle, child as FileSystemDirectoryEntry]);
      }
    }
  };
  while (waiting.length > 0 && !hidden) await Promise.all(Array.from({ length: Math.min(LANES, waiting.length) }, lane));
  return !hidden;
}

/** What lies in a directory that was dropped. */
export async function childrenOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    // It gives a hundred at a time, and nothing at the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return children;
    children.push(...batch);
  }
}

async function byHandle(directory: FileSystemDirectoryHandle): Promise<Map<string, FileSystemHandle> | null> {
  const shown = new Map<string, FileSystemHandle>();
  try {
    for await (const [name, child] of directory.entries()) shown.set(name, child);
  } catch {
    return null;
  }
  return shown;
}

/** Directories looked at at once. */
const LANES = 8;

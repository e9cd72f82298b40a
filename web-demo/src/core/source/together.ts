//! Together: small files that are read as one, which asks the browser once and not for each of them.

import { Budget } from "../coordinator/channel";

/** Contents of files, which share a buffer; null unless all of them came whole. Then each is to be read by itself, which
 * also tells what is wrong with it. */
export async function readTogether(files: File[]): Promise<Uint8Array<ArrayBuffer>[] | null> {
  await turns.take(1);
  try {
    const mark = crypto.getRandomValues(new Uint8Array(MARK));
    const sizes = files.map(({ size }) => size);
    // Of an empty one nothing is read here, and so it is not seen that it is not empty any more.
    const empty = files.filter(({ size }) => size === 0).map((file) => file.arrayBuffer());
    const [bytes] = await Promise.all([new Blob(files.flatMap((file) => [file, mark])).arrayBuffer(), ...empty]);
    return parted(new Uint8Array(bytes), sizes, mark);
  } catch {
    return null;
  } finally {
    turns.give(1);
  }
}

/** What lies between the marks. A file that is longer or shorter than it said has moved all that comes behind it, and not
 * every browser calls that a failure: what nobody could have written into a file has to be where it belongs. */
function parted(bytes: Uint8Array<ArrayBuffer>, sizes: number[], mark: Uint8Array): Uint8Array<ArrayBuffer>[] | null {
  const contents: Uint8Array<ArrayBuffer>[] = [];
  let end = 0;
  for (const size of sizes) {
    contents.push(bytes.subarray(end, end + size));
    end += size;
    for (let at = 0; at < MARK; at++) if (bytes[end + at] !== mark[at]) return null;
    end += MARK;
  }
  return end === bytes.length ? contents : null;
}

/** Bytes behind each file. */
const MARK = 16;
/** Readings that a thread has under way at once: with more the browser is not faster. */
const turns = new Budget(4);

// The files that are measured.
import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const BLOCK = 1 << 20;
const WINDOW = 4 << 20;
const MOST = 96 << 20;

/** The first files of a folder, in order, up to a size, as blocks hold them. */
export function read(folder) {
  const blocks = [[]];
  let [room, total] = [BLOCK, 0];
  for (const left = [folder]; left.length > 0 && total < MOST; ) {
    const path = left.pop();
    const found = lstatSync(path);
    if (found.isDirectory()) {
      const names = readdirSync(path, { encoding: "buffer" }).sort(Buffer.compare).map(String);
      left.push(...names.reverse().map((name) => join(path, name)));
    } else if (found.isFile() && found.size > 0 && found.size < WINDOW) {
      if (room <= 0) [blocks[blocks.length], room] = [[], BLOCK];
      blocks.at(-1).push(new Uint8Array(readFileSync(path)));
      room -= found.size;
      total += found.size;
    }
  }
  return blocks;
}

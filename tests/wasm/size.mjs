// Prints how many bytes a file has when compressed as servers of the page do: node size.mjs <file>
import { readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";

console.log(brotliCompressSync(readFileSync(process.argv[2])).length);

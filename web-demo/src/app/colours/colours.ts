/** Colours for a program's text. The text stays one node of plain text: the browser paints ranges of it, and no markup is made. */

import { ownScript } from "../../core/trusted";
import { KINDS } from "./kinds";
import workerUrl from "./worker.ts?worker&url";

/** Paints the text of a node by the kind of its file; returns what takes the colours away. */
export function paint(node: Text, name: string): () => void {
  const language = languageOf(name);
  // A browser that cannot paint ranges shows the text as it is.
  if (language === null || typeof Highlight !== "function") return () => {};
  const worker = new Worker(ownScript(workerUrl), { type: "module", name: "copal-colours" });
  const timer = setTimeout(() => worker.terminate(), MOST_MS);
  worker.onmessage = ({ data }: MessageEvent<Uint32Array | null>) => {
    clearTimeout(timer);
    worker.terminate();
    if (data) show(node, data);
  };
  worker.postMessage({ text: node.data, language });
  return () => {
    clearTimeout(timer);
    worker.terminate();
    for (const kind of KINDS) CSS.highlights.delete(`copal-${kind.name}`);
  };
}

function show(node: Text, tokens: Uint32Array): void {
  const painted = KINDS.map(({ name }) => {
    const highlight = new Highlight();
    CSS.highlights.set(`copal-${name}`, highlight);
    return highlight;
  });
  for (let i = 0; i + 2 < tokens.length; i += 3) {
    const [start, end, kind] = [tokens[i]!, tokens[i + 1]!, tokens[i + 2]!];
    if (start < end && end <= node.length) painted[kind]?.add(new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end }));
  }
}

/** The ending of a name, or all of one without; null where there is nothing to colour. */
export function languageOf(name: string): string | null {
  const language = name.toLowerCase().split(".").at(-1)!;
  return language === "" || PLAIN.has(language) ? null : language;
}

const PLAIN = new Set(["txt", "text", "log", "csv", "tsv", "readme", "license", "copying"]);
/** A text that takes longer stays without colours. */
const MOST_MS = 3_000;

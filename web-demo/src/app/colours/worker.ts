//! Colours, in a worker of its own: finds the words of a program's text that a person wants to see in colours. Patterns run over
//! text that anybody may have written, and some may take for ever on it: whoever asks ends this worker then.

import highlighter from "highlight.js/lib/common";
import { KINDS } from "./kinds";

/** Text, and the name or ending of a file of such text. */
export interface Asked { text: string; language: string }

interface Node { scope?: string; children: (Node | string)[] }

self.onmessage = ({ data: { text, language } }: MessageEvent<Asked>) => {
  if (!highlighter.getLanguage(language)) return self.postMessage(null);
  const found: number[] = [];
  let at = 0;
  const visit = (node: Node, above: number) => {
    const own = kindOf(node.scope);
    const kind = own < 0 ? above : own;
    for (const child of node.children) {
      if (typeof child !== "string") {
        visit(child, kind);
        continue;
      }
      if (kind >= 0) found.push(at, at + child.length, kind);
      at += child.length;
    }
  };
  const result = highlighter.highlight(text, { language, ignoreIllegals: true }) as unknown as { _emitter: { rootNode: Node } };
  visit(result._emitter.rootNode, -1);
  const tokens = Uint32Array.from(found);
  self.postMessage(tokens, { transfer: [tokens.buffer] });
};

/** Which of the kinds a scope is, such as "title.function" or "keyword"; -1 for none. */
function kindOf(scope: string | undefined): number {
  const first = scope?.split(".")[0] ?? "";
  return KINDS.findIndex(({ scopes }) => scopes.includes(first));
}

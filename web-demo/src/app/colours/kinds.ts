/** Kinds of words that have colours of their own, and what the highlighter calls them. */
export const KINDS: readonly { name: string; scopes: readonly string[] }[] = [
  { name: "comment", scopes: ["comment", "quote", "doctag"] },
  { name: "string", scopes: ["string", "regexp", "char", "addition", "code", "link"] },
  { name: "number", scopes: ["number", "literal", "symbol", "bullet"] },
  { name: "keyword", scopes: ["keyword", "selector-tag", "deletion", "meta", "tag"] },
  { name: "name", scopes: ["title", "section", "name", "built_in", "type", "class", "function"] },
  { name: "detail", scopes: ["attr", "attribute", "property", "variable", "params", "selector-class", "selector-id", "template-variable"] },
];

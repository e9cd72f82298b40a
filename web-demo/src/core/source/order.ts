//! Order: names as the tree sorts them, which is by their UTF-8 bytes. JavaScript sorts by UTF-16, which differs beyond
//! the basic plane.

/** Compares two names by their UTF-8 bytes, which is the order of code points. */
export function compareNames(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Compares two paths as the tree does: `/` sorts lowest, so that a directory's content follows it at once. */
export function comparePaths(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    if (left === SLASH) return -1;
    if (right === SLASH) return 1;
    return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Halves of pairs stand for code points above all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** Whether a name can be stored and restored anywhere: one component, well-formed, and not a relative one. */
export function isGoodName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name) && isWellFormed(name);
}

/** Whether every half of a pair has its other half: only then the name has UTF-8 bytes of its own. */
function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

const SLASH = 0x2f;

//! Kept page: what tells a kept build, for whoever only asks whether there is one. `public/media.js` has the same names.

/** Begins the name of the cache of a build. */
export const KEPT = "copal-page-";
/** The list of a build's files. It is put into the cache last: a cache without it is not whole. */
export const LIST = "/files.json";

/** Whether the page is kept for a visit without a network. */
export async function isPageKept(): Promise<boolean> {
  const names = await globalThis.caches?.keys().catch(() => []);
  return (names ?? []).some((name) => name.startsWith(KEPT));
}

/** Keeps the build that the server has now. If that fails, the next visit does it. */
export async function keepNewPage(): Promise<void> {
  await import("./page").then((page) => page.keepPage()).catch(() => {});
}

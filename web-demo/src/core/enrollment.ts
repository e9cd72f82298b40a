//! Enrollment links: the line stands behind `#` in the address, which no server sees, and is taken out of it at once.

/** Takes the enrollment line out of the address, so that neither history nor a bookmark holds it. */
export function takeLink(location: { hash: string; pathname: string; search: string }, history: Pick<History, "replaceState">): string | null {
  const { hash } = location;
  if (!hash.startsWith(MARK)) return null;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(hash.slice(MARK.length));
  } catch {
    return hash.slice(MARK.length);
  }
}

/** What stands before the line. */
const MARK = "#join=";

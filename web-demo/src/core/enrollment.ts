//! Enrollment links: the line stands behind `#` in the address, which no server sees, and is taken out of it at once.

/** Takes the enrollment line out of the address, so that neither history nor a bookmark holds it. */
export function takeLink(location: { hash: string; pathname: string; search: string }, history: Pick<History, "replaceState">): string | null {
  const { hash } = location;
  if (!hash.startsWith(MARK)) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return lineIn(hash);
}

/** The enrollment line in what a person has pasted: the line itself, or a whole link. */
export function lineIn(pasted: string): string {
  const at = pasted.indexOf(MARK);
  if (at < 0) return pasted;
  const line = pasted.slice(at + MARK.length);
  try {
    return decodeURIComponent(line);
  } catch {
    return line;
  }
}

/** What stands before the line. */
const MARK = "#join=";

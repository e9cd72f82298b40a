/** Shares: links to files. */

import { words } from "./language";

export const shares = words("shares", {
});

/** Restore: the list of snapshots. */

import { words } from "./language";

export const restore = words("restore", {
});

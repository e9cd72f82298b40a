/** Unlock: opening a repository. */

import { words } from "./language";

export const unlock = words("unlock", {
});

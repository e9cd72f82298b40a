/** Keys: passphrases and recovery codes. */

import { words } from "./language";

export const keys = words("keys", {
});

/** Kept: what is kept. */

import { words } from "./language";

export const kept = words("kept", {
});

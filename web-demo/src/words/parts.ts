/** Parts: what stands on several screens. */

import { words } from "./language";

export const parts = words("parts", {
});

/** Plain: what the core names with a code. */

import { words } from "./language";

export const plain = words("plain", {
});

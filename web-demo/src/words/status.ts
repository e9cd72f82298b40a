/** Status: how the repository is. */

import { words } from "./language";

export const status = words("status", {
});

/** Shell: what stands around every screen. */

import { words } from "./language";

export const shell = words("shell", {
});

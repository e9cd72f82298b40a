/** Backup: choosing, running and ending a backup. */

import { words } from "./language";

export const backup = words("backup", {
});

/** Backup, in German. */

import type { backup as english } from "../backup";

export const backup: typeof english = {
};

/** Restore, in German. */

import type { restore as english } from "../restore";

export const restore: typeof english = {
};

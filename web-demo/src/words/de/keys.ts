/** Keys, in German. */

import type { keys as english } from "../keys";

export const keys: typeof english = {
};

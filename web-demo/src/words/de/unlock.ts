/** Unlock, in German. */

import type { unlock as english } from "../unlock";

export const unlock: typeof english = {
};

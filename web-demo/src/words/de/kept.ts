/** Kept, in German. */

import type { kept as english } from "../kept";

export const kept: typeof english = {
};

/** Shares, in German. */

import type { shares as english } from "../shares";

export const shares: typeof english = {
};

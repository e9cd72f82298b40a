/** Versions, in German. */

import type { versions as english } from "../versions";

export const versions: typeof english = {
};

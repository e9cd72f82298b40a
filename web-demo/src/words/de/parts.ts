/** Parts, in German. */

import type { parts as english } from "../parts";

export const parts: typeof english = {
};

/** Preview, in German. */

import type { preview as english } from "../preview";

export const preview: typeof english = {
};

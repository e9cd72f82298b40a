/** Plain, in German. */

import type { plain as english } from "../plain";

export const plain: typeof english = {
};

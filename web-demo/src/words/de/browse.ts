/** Browse, in German. */

import type { browse as english } from "../browse";

export const browse: typeof english = {
};

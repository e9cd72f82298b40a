/** Problems, in German. */

import type { problems as english } from "../problems";

export const problems: typeof english = {
};

/** Marks, in German. */

import type { marks as english } from "../marks";

export const marks: typeof english = {
};

/** Status, in German. */

import type { status as english } from "../status";

export const status: typeof english = {
};

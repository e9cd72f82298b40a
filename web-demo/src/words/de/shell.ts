/** Shell, in German. */

import type { shell as english } from "../shell";

export const shell: typeof english = {
};

/** Preview: what is looked at before it is restored. */

import { words } from "./language";

export const preview = words("preview", {
});

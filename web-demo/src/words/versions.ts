/** Versions: a file over time, comparisons and searches. */

import { words } from "./language";

export const versions = words("versions", {
});

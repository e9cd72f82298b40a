/** Marks: pins, tags and forgetting. */

import { words } from "./language";

export const marks = words("marks", {
});

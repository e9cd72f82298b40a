/** Problems: what can go wrong. */

import { words } from "./language";

export const problems = words("problems", {
});

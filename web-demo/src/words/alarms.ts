/** Alarms: what needs a person. */

import { words } from "./language";

export const alarms = words("alarms", {
});

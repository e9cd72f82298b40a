/** Alarms, in German. */

import type { alarms as english } from "../alarms";

export const alarms: typeof english = {
};

/** Devices, in German. */

import type { devices as english } from "../devices";

export const devices: typeof english = {
};

/** Devices: devices and enrolling them. */

import { words } from "./language";

export const devices = words("devices", {
});

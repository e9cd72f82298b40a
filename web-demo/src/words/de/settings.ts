/** Settings, in German. */

import type { settings as english } from "../settings";

export const settings: typeof english = {
  language: "Sprache",
  browsers: "Wie im Browser",
};

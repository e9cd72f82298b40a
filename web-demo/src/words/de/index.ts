/** The German catalogue. */

import type { Catalogue } from "../language";
import { alarms } from "./alarms";
import { backup } from "./backup";
import { browse } from "./browse";
import { devices } from "./devices";
import { kept } from "./kept";
import { keys } from "./keys";
import { marks } from "./marks";
import { parts } from "./parts";
import { plain } from "./plain";
import { preview } from "./preview";
import { problems } from "./problems";
import { restore } from "./restore";
import { settings } from "./settings";
import { shares } from "./shares";
import { shell } from "./shell";
import { status } from "./status";
import { time } from "./time";
import { unlock } from "./unlock";
import { versions } from "./versions";

export const catalogue: Catalogue = {
  alarms, backup, browse, devices, kept, keys, marks, parts, plain, preview,
  problems, restore, settings, shares, shell, status, time, unlock, versions,
};

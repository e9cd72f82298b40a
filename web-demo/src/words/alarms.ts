/** Alarms: what needs a person, and what the system tells where nobody looks. */

import type { ScheduledJob } from "../core/api";
import { words } from "./language";
import { counted } from "./numbers";

const JOBS: Record<ScheduledJob["job"], string> = { check: "checking", prune: "pruning", compact: "compacting the index", expire: "letting snapshots expire" };

export const alarms = words("alarms", {
  title: "Alarms",
  settle: "Expect no more of it",
  settleWhat: (title: string) => `Expect no more of it: ${title}`,
  look: "Look at it",
  lookWhat: (title: string) => `Look at it: ${title}`,

  someSeries: "A series of backups",
  seriesOf: (source: string, device: string) => `${source} of ${device}`,
  oldHere: (folder: string, ago: string) => `${folder} was backed up here ${ago}`,
  oldHereAdvice: "This browser remembers the folder. Back it up again, or forget it under Back up.",
  old: (series: string, ago: string) => `${series} was backed up ${ago}`,
  /** The hours count where it is less than a day. */
  oldAdvice: (days: number, hours: number) =>
    `It used to be backed up about every ${days < 1 ? counted(hours, "hour") : days === 1 ? "day" : counted(days, "day")}. Look whether that device still runs its backups.`,
  damage: "The last check found damage",
  damageAdvice: "Back up the same folders again: what they still have is stored anew. Below stands what was found.",
  hold: (series: string) => `${series} has changed a lot at once`,
  holdAdvice: "Nothing of it is removed until it is released. Look whether its newest backup is what you expect: a device whose files were encrypted by somebody looks like that.",
  fails: (jobs: ScheduledJob["job"][]) => `The service fails at ${jobs.map((job) => JOBS[job]).join(" and ")}`,
  failsAdvice: "Whoever runs the server finds the reason in its log.",
  /** Whole days; null: it has never run. */
  noCheck: (days: number | null) => `The service ${days === null ? "has never checked the repository" : `has not checked the repository for ${counted(days, "day")}`}`,
  noCheckAdvice: "Damage would go unnoticed. Whoever runs the server should look at its jobs.",
  noPrune: (days: number | null) => `The service ${days === null ? "has never pruned the repository" : `has not pruned the repository for ${counted(days, "day")}`}`,
  noPruneAdvice: "What nothing needs takes room still. Whoever runs the server should look at its jobs.",
  quota: (percent: string) => `${percent} of the granted room is used`,
  quotaAdvice: (used: string, quota: string) => `${used} of ${quota}. Once it is full, backups end unfinished. Ask whoever runs the server for more, or forget old snapshots.`,
  daily: (percent: string) => `${percent} of what may be added in 24 hours is used`,
  dailyAdvice: (used: string, quota: string) => `${used} of ${quota}. The rest of a larger backup goes on tomorrow.`,

  backedUp: (label: string) => `${label} is backed up`,
  notBackedUp: (label: string) => `${label} is not backed up`,
});

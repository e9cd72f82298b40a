/** Kept: what is kept, why, and what else could be. */

import type { ComponentChildren } from "preact";
import type { Foreseen, Period, Reason } from "../core/keeping";
import { words } from "./language";
import { count, counted } from "./numbers";

export type Unit = "year" | "quarter" | "month" | "week" | "day" | "hour" | "minute" | "second";

/** Why a backup stays; several stand in a list. */
const REASONS: Record<Reason["kind"], (unit: Unit | null, nth: number, span: string) => string> = {
  "no-rule": () => "no rule lets anything go",
  pinned: () => "pinned",
  tagged: () => "its tags",
  within: (_, __, span) => `of the last ${span}`,
  counted: (unit, nth) => (unit === null ? `number ${count(nth)} of the last` : `the newest of its ${unit}`),
  oldest: () => "the oldest of its name",
  "counted-within": (unit, _, span) => `the newest of its ${unit ?? ""} within ${span}`,
  "day-floor": () => "the first or the last of its day",
};

const FIELDS: Record<Period, string> = { last: "Last backups", hourly: "Hours", daily: "Days", weekly: "Weeks", monthly: "Months", quarterly: "Quarters", yearly: "Years" };
const BECOMES: Record<Foreseen["becomes"], string> = { goes: "Goes", later: "Goes later", stays: "Stays" };

export const kept = words("kept", {
  reading: "Reading the rules",
  changeRules: "Change the rules…",
  setRules: "Set rules…",
  weighing: "Weighing every backup…",
  /** A backup of which nothing can be read. */
  nameless: (device: ComponentChildren): ComponentChildren => ["a backup of the device ", device],

  inForce: {
    everything: "Everything is kept",
    noRules: (backups: number) => `No rules are set. ${backups === 0 ? "Every backup" : `Each of your ${counted(backups, "backup")}`} stays until somebody forgets it, and the repository grows with each one.`,
    title: "The rules in force",
    about: "They look at each name of each device by itself: no device pushes out what another has saved.",
    letNothingGo: "Every backup stays until somebody forgets it: no rule lets one go.",
    guarded: (floor: string) => `Guarded, also against forgetting: ${floor}. What is forgotten of it can be brought back for as long as it is guarded.`,
    unguarded: (grace: string) => `Nothing is guarded: what somebody forgets, prune frees after ${grace}.`,
    everythingElse: "Everything else that the policy says",
  },

  rules: {
    length: (number: number, unit: Unit) => counted(number, unit),
    every: (unit: Unit): string => unit,
    within: (span: string) => `Everything of the last ${span}`,
    all: "Every backup",
    last: (number: number) => (number === 1 ? "The last backup" : `The last ${count(number)} backups`),
    forLast: (lengths: string) => `One for each of the last ${lengths}`,
    forEvery: (units: string) => `One for every ${units}`,
    forSpan: (unit: Unit, span: string) => `One for each ${unit} of the last ${span}`,
    ends: (span: string) => `The first and the last of each day of the last ${span}`,
    tagged: (number: number, tags: string) => `Backups with the ${number === 1 ? "tag" : "tags"} ${tags}`,
    tag: (name: string) => `“${name}”`,
    unknownTag: (id: string) => `${id}… (its name is not known)`,
    pinned: "Pinned backups",
    /** Lines in one sentence. */
    together: (lines: string[], floor: string | null) => {
      const [first, ...others] = [...lines, ...(floor === null ? [] : [`Guarded: ${floor}`])];
      return `${[first, ...others.map((line) => line.charAt(0).toLowerCase() + line.slice(1))].join("; ")}.`;
    },
    floorLast: (number: number) => (number === 1 ? "the last one of each name" : `the last ${count(number)} of each name`),
    floorAge: (age: string) => `whatever is younger than ${age}`,
    noHold: "No backup is ever looked at with suspicion",
    hold: (percent: number, least: string) => `A backup that lost ${percent} % of the one before, or stored as much anew, holds its name (from ${least} on)`,
    grace: (time: string) => `What was forgotten can be brought back for ${time} at least`,
    utc: "Days begin at midnight UTC",
    zone: (zone: string) => `Days begin at midnight of the time zone ${zone}`,
    checkParts: (parts: number) => (parts === 1 ? "Each check reads all that is stored" : `Each check reads one part in ${count(parts)} of what is stored`),
    linger: (until: string, floor: string | null, hasHolds: boolean) =>
      `Until ${until} what the rules before have guarded stays too: ${[...(floor === null ? [] : [floor]), ...(hasHolds ? ["its holds"] : [])].join(" and ")}.`,
  },

  holds: {
    title: (backups: number) => `${counted(backups, "backup")} ${backups === 1 ? "looks" : "look"} wrong`,
    about: (backups: number): string => (backups === 1
      ? "No backup of its name goes, and none that was forgotten is freed, until you release it. Compare it with the backup before it first."
      : "No backup of these names goes, and none that was forgotten is freed, until you release them. Compare each with the backup before it first."),
    release: "Release…",
    entries: (now: number, before: number) => `It has about ${counted(now, "file or folder", "files and folders")}, the one before had ${count(before)}.`,
    bytes: (now: string, before: string) => `It holds about ${now}, the one before held ${before}.`,
    rewritten: (now: string, before: string) => `About ${now} had to be stored for it anew, of ${before} that were there already. So it looks where files were encrypted.`,
  },

  change: {
    title: "Rules",
    others: "Other rules",
    which: "Which rules",
    family: { title: "A family", about: "Photos, letters, homework: the weeks behind you finely, the years coarsely, for ever." },
    office: { title: "An office", about: "Work that changes by the hour, and ten years of records." },
    little: { title: "Little room", about: "Half a year back, as little as is sensible." },
    own: "Own numbers",
    ownFromPolicy: "Beginning with the rules in force.",
    ownFromNone: "For each name of each device.",
    keep: "Keep one for each of so many",
    fields: FIELDS,
    /** Without end; “all” is understood in each language. */
    all: "all",
    keepHint: "A day without a backup does not count. An empty field sets no rule; “all” keeps one for each, without end.",
    notWhole: "A whole number, or “all”.",
    within: "Everything of the last",
    withinHint: "Such as 2d (days), 3w (weeks), 6m (months) or 1y (year).",
    noSpan: "A number and a unit, such as 2d, 3w, 6m or 1y.",
    floorLast: "Guard the last",
    floorLastHint: "Of each name, also from forgetting.",
    noNumber: "A whole number.",
    floorAge: "Guard so many days",
    floorAgeHint: "What is younger, also from forgetting.",
    noDays: "A number of days.",
    stays: "What stays as it is",
    staysAbout: (command: ComponentChildren): ComponentChildren => ["Only ", command, " sets these rules."],
    look: "Show what would go",
    leave: "Leave the rules as they are",
  },

  more: {
    title: "More: tags, backups that look wrong, time to bring back, time zone",
    tags: {
      title: "Backups that stay because of their tags",
      about: "A backup that has all tags of one line stays, however old it is. You give tags in the list of backups.",
      label: "Tags",
      add: "Add",
      hint: "With commas between them: then a backup needs all of them.",
      known: "Tags that backups have",
      remove: "Remove",
    },
    hold: {
      title: "Backups that look wrong",
      about: "Where many files were deleted or encrypted, the next backup is unlike the one before. Then no backup of its name goes until you have looked and released it.",
      watch: "Watch for backups that look wrong",
      share: "Percent gone or stored anew",
      shareHint: "A lower number notices more, and asks you more often.",
      noShare: "A whole number from 1 to 100.",
      least: "Least size of the backup before, in MiB",
      leastHint: "After a smaller backup, none looks wrong.",
      noLeast: "A number of MiB.",
    },
    grace: {
      label: "Time to bring back",
      hint: "Such as 36h (hours), 2d (days) or 1w (week).",
      wrong: "A number and a unit, such as 36h, 2d or 1w; at least 1h.",
      about: "For that long, whatever goes or is forgotten can be brought back. Its space is free only afterwards.",
    },
    zone: {
      label: "Days begin at midnight",
      own: (name: string) => `In ${name}, where this browser is`,
      asNow: (zone: string) => `In the time zone ${zone}, as now`,
      utc: "UTC",
      hint: "The rules count days, weeks and months in this time zone.",
    },
  },

  weaker: {
    title: "This protects less than today",
    fromAll: "So far every backup stays until somebody forgets it.",
    rules: (before: string, after: string) => `So far: ${before}. Then: ${after}.`,
    tags: (backups: string) => `${backups} would no longer stay for ever.`,
    guard: (before: string, after: string | null) => `Guarded so far: ${before}. Then: ${after ?? "nothing"}.`,
    noHold: "No backup would count as suspicious any more. Where files were encrypted or deleted, the rules would let the good backups go.",
    hold: (share: number, least: string, then: number, thenLeast: string) =>
      `So far a backup looks wrong if ${share} % of the one before is gone or stored anew, and that one had at least ${least}. Then: ${then} %, at least ${thenLeast}.`,
    grace: (before: string, after: string) => `So far, whatever goes or is forgotten can be brought back for ${before}. Then: ${after}. That counts at once, also for what has gone already.`,
  },

  forecast: {
    signThese: "Sign these rules…",
    nothingGoes: (stays: number) => `Nothing would go now: ${counted(stays, "backup")} ${stays === 1 ? "stays" : "stay"}`,
    wouldGo: (goes: number, stays: number) => `${counted(goes, "backup")} would go, ${count(stays)} would stay`,
    later: (later: number, until: string) => `${count(later)} more would go later: until ${until} the guard of the rules before keeps ${later === 1 ? "it" : "them"}.`,
    freed: (backups: number) => `${counted(backups, "forgotten backup")} would no longer be guarded, and prune may free ${backups === 1 ? "it" : "them"}.`,
    holds: (backups: number) => `${counted(backups, "backup")} would still hold ${backups === 1 ? "its name" : "their names"}`,
    holdsAbout: (backups: number): string => (backups === 1 ? "Nothing of that name goes before it is released." : "Nothing of those names goes before they are released."),
    none: "There is no backup yet.",
    go: (backups: number) => `${count(backups)} ${backups === 1 ? "goes" : "go"}`,
    stay: (backups: number) => `${count(backups)} ${backups === 1 ? "stays" : "stay"}`,
    table: "What becomes of each backup",
    columns: { backup: "Backup", becomes: "Becomes", why: "Why" },
    newestOf: (newest: number, all: number) => `The newest ${count(newest)} of ${count(all)}.`,
    becomes: BECOMES,
    noRule: "No rule keeps it",
    reasons: REASONS,
    byHold: "A hold keeps all of its name",
    byLast: "The guard keeps the last ones of each name",
    byAge: (until: string) => `The guard keeps it until ${until}`,
  },

  ask: {
    release: { title: "Release this backup?", sign: "Sign and release" },
    set: { title: "Set these rules?", sign: "Sign and set these rules" },
    counts: (floor: string | null) => `${floor === null ? "Nothing is guarded" : `Guarded: ${floor}`}. It counts for all devices, until you sign other rules.`,
    /** What goes. */
    broughtBack: (time: string) => `Like what is forgotten, it can be brought back for ${time} at least.`,
    releases: "You say that it is as it should be. Then the rules count for its name again: they may let older backups go, the good ones before it too.",
  },

  outcomes: {
    waiting: { title: "Signed and stored", about: "The server has not taken it in yet. This page shows it once it has." },
    set: { title: "The rules are signed", about: "The service follows them from now on. It looks for what may go once an hour, unless its operator has said otherwise." },
    released: { title: "Released", about: "The rules count for these backups again." },
  },
});

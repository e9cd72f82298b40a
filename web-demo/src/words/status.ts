/** Status: how the repository is. */

import type { ComponentChildren } from "preact";
import type { Fault, Thing } from "../core/findings";
import { words } from "./language";
import { count, counted } from "./numbers";

/** What is little is not nothing. */
const money = (dollars: number) => (dollars > 0 && dollars < 0.01 ? "under $0.01" : `$${dollars.toFixed(2)}`);

const THINGS: Record<Thing, [one: string, several: string]> = {
  pack: ["A part of the stored data", "parts of the stored data"],
  content: ["Something that backups hold", "things that backups hold"],
  index: ["A part of the index", "parts of the index"],
  state: ["A part of the list of all backups", "parts of the list of all backups"],
  roots: ["The list of all backups", "lists of all backups"],
  root: ["A version of the list of all backups", "versions of the list of all backups"],
  manifest: ["The record of a backup step", "records of backup steps"],
  receipt: ["The receipt for a backup step", "receipts for backup steps"],
  change: ["A signed change", "signed changes"],
  expiry: ["A record of what the rules let go", "records of what the rules let go"],
  deletion: ["The record of a deletion", "records of deletions"],
  client: ["The entry of a device", "entries of devices"],
  "client-copy": ["A copy of a device's entry", "copies of devices' entries"],
  key: ["A copy of a key", "copies of keys"],
  keys: ["Every key of the repository", "keys of the repository"],
  descriptor: ["The description of the repository", "descriptions of the repository"],
  reader: ["The reader in the repository", "readers in the repository"],
};

/** What is wrong with them. */
const FAULTS: Record<Fault, (number: number) => string> = {
  missing: (number) => (number === 1 ? "is missing" : "are missing"),
  damaged: (number) => (number === 1 ? "is damaged" : "are damaged"),
  dangling: (number) => (number === 1 ? "refers to something that is not there" : "refer to something that is not there"),
  stale: (number) => (number === 1 ? "is damaged, and nothing needs it" : "are damaged, and nothing needs them"),
};

export const status = words("status", {
  reading: "Reading the status",
  sizeOfRepository: "Size of the repository",
  sizeAbout: "What is stored, encrypted, after each change.",

  unfinished: (backups: number) => (backups < 2 ? "An unfinished backup" : `${counted(backups, "backup")} are unfinished`),
  /** `ago` is null while it runs. */
  unfinishedOne: (label: ComponentChildren, ago: string | null, size: string): ComponentChildren =>
    [label, `, ${ago ?? "running now"}: ${size} are kept.${ago === null ? "" : " Back it up again, and it goes on from there."}`],
  unfinishedSteps: (steps: number) => `${counted(steps, "step")} of it ${steps === 1 ? "is" : "are"} being verified.`,

  verdict: {
    refused: (backups: number) => `${counted(backups, "backup")} ${backups === 1 ? "was" : "were"} not accepted`,
    noneFinished: "No backup has finished yet",
    nothing: "Nothing is backed up yet",
    waiting: (backups: number) => `${counted(backups, "backup")} ${backups === 1 ? "waits" : "wait"} to be verified`,
    good: "All backups are verified",
    newest: (ago: string) => `Newest backup ${ago}.`,
    checked: (ago: string, read: string | null, isSound: boolean) => `Last check ${ago}${read === null ? "" : `, ${read} read and hashed`}${isSound ? ": sound." : "."}`,
    unchecked: "Not checked yet.",
    repair: (command: ComponentChildren): ComponentChildren =>
      ["Back up the same folders again: what they still have is stored anew. Then whoever runs the repository should run ", command, ", which says what is still lost."],
  },

  findings: {
    said: (fault: Fault, thing: Thing, number: number) => {
      const [one, several] = THINGS[thing];
      if (fault === "dangling" && thing === "content") return `${number === 1 ? `${one} is` : `${count(number)} ${several} are`} stored nowhere any more.`;
      return `${number === 1 ? one : `${count(number)} ${several}`} ${FAULTS[fault](number)}.`;
    },
    unknown: "The check has found what this page does not know:",
    /** `names`: of the newest ones. */
    harms: (backups: number, names: ComponentChildren): ComponentChildren => [backups === 1 ? "1 backup is harmed: " : `${count(backups)} backups are harmed, the newest are: `, names],
    harmsUnlisted: (backups: number) => `${counted(backups, "backup")} ${backups === 1 ? "is" : "are"} harmed.`,
    asWritten: "As the check has written it (in English)",
  },

  space: {
    title: "Space saved",
    about: "What your snapshots hold, and what it takes to keep them.",
    smaller: "smaller",
    copies: "All snapshots, each as a full copy",
    newest: "The newest of each alone",
    stored: "Stored, deduplicated and compressed",
    less: (percent: number) => `${percent} % less`,
  },

  receipts: {
    title: "Backups",
    ofThisDevice: "Backups of this device",
    none: "None yet",
    noneAbout: "Once there is a backup, this says whether the service has verified it.",
    table: "Backups and whether they are verified",
    backup: "Backup",
    state: "State",
    verified: "Verified",
    waiting: "Waiting",
    rejected: "Not accepted",
    newestOf: (newest: number, all: number) => `The newest ${newest} of ${counted(all, "backup")}.`,
  },

  upkeep: {
    title: "Upkeep",
    itsOwn: "The service does this on a schedule of its own. It cannot be started from here.",
    byItself: "The service does this by itself. You need not start it, but you can.",
    check: {
      title: "Check", start: "Check now", running: "Checking…", started: "Check is started.",
      about: "Reads the part of the stored data whose turn it is, and compares it with what was stored.",
    },
    prune: {
      title: "Prune", start: "Prune now", running: "Pruning…", started: "Prune is started.",
      about: "Frees what no snapshot needs, once the time to bring it back is over. “What is kept” says how long that is.",
    },
    failed: "The last run failed.",
    neverYet: "It has not reported yet.",
    lastCheck: (ago: string, isSound: boolean, read: string | null) => `Last ${ago}: ${isSound ? "sound" : "damage"}${read === null ? "" : `, ${read} read`}.`,
    lastPrune: (ago: string, freed: string | null) => `Last ${ago}${freed === null ? "" : `: ${freed} freed`}.`,
    never: "This server never does it by itself, so nobody can start it here.",
    /** 0: more often. */
    runs: (hours: number) => {
      if (hours < 1) return "It runs more often than every hour.";
      if (hours === 1) return "It runs every hour.";
      if (hours === 24) return "It runs every day.";
      return hours % 24 === 0 ? `It runs every ${hours / 24} days.` : `It runs every ${hours} hours.`;
    },
  },

  growth: {
    title: "What each device has added",
    about: "What several devices have counts for the one that stored it first. What was freed since is not taken off.",
    cost: money,
    costAtMost: (dollars: number) => `${dollars > 0 && dollars < 0.01 ? "" : "up to "}${money(dollars)} a month`,
    aMonth: "a month",
    costAbout: (size: string, price: number) => `${size} are stored now, at $${price} for a GB and month. Requests and transfers cost extra, where they are charged. Change the price in Settings.`,
    add: "Add it up",
    addAgain: "Add it up again",
    addAbout: "The first time this reads one small record for each backup step.",
    adding: "Adding up…",
    stepsRead: (done: number, total: number) => `${count(done)} of ${count(total)} steps read…`,
    stop: "Stop",
    nothing: "Nothing yet.",
    device: (id: string) => `Device ${id}`,
    chart: (device: string) => `What ${device} has added`,
    unnamed: "A series without a kept snapshot",
  },

  chart: {
    about: (label: string, size: string, day: string, lastSize: string, lastDay: string) => `${label}: from ${size} on ${day} to ${lastSize} on ${lastDay}`,
    asTable: "As a table",
    table: (label: string) => `${label}, as a table`,
    time: "Time",
    size: "Size",
  },
});

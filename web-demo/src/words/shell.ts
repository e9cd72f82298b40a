/** Shell: the words around every screen. */

import type { ComponentChildren } from "preact";
import { words } from "./language";

export const shell = words("shell", {
  screens: { backup: "Back up", restore: "Restore", status: "Status", devices: "Devices", settings: "Settings" },
  /** Of the browser's window. */
  title: (screen: string) => `${screen} – Copal`,
  titleRunning: (percent: string) => `${percent} backed up – Copal`,
  skip: "Skip to the content",
  navigation: "Screens",
  unlocked: "Unlocked",
  writeOnly: "Write-only device",
  repository: (id: string) => `Repository ${id}`,
  lock: "Lock",
  // Behind a number.
  done: "done",
  running: "running",
  alarms: (alarms: number): string => (alarms === 1 ? "alarm" : "alarms"),
  whileRunning: {
    title: "Lock while something runs?",
    goOn: "Go on",
    lock: "Stop and lock",
    loses: "Locking stops what is under way. What a backup has uploaded is kept, and the next one goes on from it; a download has to begin again.",
  },
  elsewhere: {
    title: "Copal is open in another tab",
    advice: "Only one tab can back up at a time. Go on there, or close it.",
  },
  read: "I have read it",
  noNetwork: "There is no network",
  waits: "What needs the server waits until it is back.",
  soon: {
    title: "Still there?",
    lock: "Lock now",
    stay: "Stay unlocked",
    locksIn: (left: ComponentChildren): ComponentChildren => ["Nobody has touched this page for a while. It locks in ", left, "."],
  },
  drop: "Drop to back up",
});

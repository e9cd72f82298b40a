/** Shell, in German. */

import type { shell as english } from "../shell";

export const shell: typeof english = {
  screens: { backup: "Sichern", restore: "Wiederherstellen", status: "Zustand", devices: "Geräte", settings: "Einstellungen" },
  title: (screen) => `${screen} – Copal`,
  titleRunning: (percent) => `${percent} gesichert – Copal`,
  skip: "Zum Inhalt springen",
  navigation: "Bereiche",
  unlocked: "Entsperrt",
  writeOnly: "Kann nur sichern",
  repository: (id) => `Repository ${id}`,
  lock: "Sperren",
  done: "fertig",
  running: "in Arbeit",
  alarms: (alarms) => (alarms === 1 ? "Warnung" : "Warnungen"),
  whileRunning: {
    title: "Sperren, obwohl noch etwas läuft?",
    goOn: "Weitermachen",
    lock: "Abbrechen und sperren",
    loses: "Wenn Sie sperren, bricht ab, was gerade läuft. Was eine Sicherung hochgeladen hat, bleibt, und die nächste macht dort weiter. Ein Download muss von vorn beginnen.",
  },
  elsewhere: {
    title: "Copal ist in einem anderen Tab offen",
    advice: "Es kann immer nur ein Tab sichern. Machen Sie dort weiter, oder schließen Sie ihn.",
  },
  read: "Gelesen",
  noNetwork: "Keine Netzverbindung",
  waits: "Was den Server braucht, wartet, bis er wieder erreichbar ist.",
  soon: {
    title: "Sind Sie noch da?",
    lock: "Jetzt sperren",
    stay: "Entsperrt lassen",
    locksIn: (left) => ["Diese Seite hat eine Weile niemand benutzt. Sie wird in ", left, " gesperrt."],
  },
  drop: "Zum Sichern loslassen",
};

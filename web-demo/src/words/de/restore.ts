/** Restore, in German. */

import type { restore as english } from "../restore";
import { counted } from "../numbers";

export const restore: typeof english = {
  lead: "Wählen Sie einen Stand, um hineinzusehen. Jedes Byte wird geprüft, bevor Sie es bekommen.",
  whereYouAre: "Wo Sie sind",
  snapshots: "Sicherungsstände",
  forgottenSnapshots: "Vergessene Sicherungsstände",
  number: (snapshots) => counted(snapshots, "Sicherungsstand", "Sicherungsstände"),
  files: (files) => counted(files, "Datei", "Dateien"),
  reading: "Die Sicherungsstände werden gelesen",
  kept: {
    title: "Was behalten wird",
    lead: "Der Dienst vergisst alte Sicherungen nach Regeln, die Sie unterschreiben, und gibt ihren Platz frei. Niemand sonst kann die Regeln ändern.",
  },
  writeOnly: {
    title: "Dieses Gerät kann sichern, aber keine Sicherung lesen",
    why: "Es ist als Gerät beigetreten, das nur sichern darf. Ihm fehlt jeder Schlüssel zu dem, was gespeichert ist, auch zu seinen eigenen Sicherungen. Wer dieses Gerät an sich nimmt, kann sie also weder lesen noch löschen.",
    instead: (command) => ["Zum Wiederherstellen entsperren Sie auf einem Computer des Besitzers mit dessen Passphrase, oder Sie verwenden dort den Befehl ", command, "."],
    backUp: "Sichern",
  },
  unread: {
    title: (snapshots) => `${counted(snapshots, "Sicherungsstand ist", "Sicherungsstände sind")} nicht lesbar`,
    advice: (command) => ["Die anderen sind unversehrt. Bitten Sie die Person, die das Repository betreibt, ", command, " auszuführen."],
  },
  none: {
    title: "Noch keine Sicherungsstände",
    means: "Aus jeder Sicherung wird ein Sicherungsstand: alles, wie es zu dieser Zeit war.",
    backUp: "Ordner sichern",
  },
  noneForgotten: {
    title: "Nichts ist vergessen",
    means: "Ein vergessener Sicherungsstand steht hier, bis das Aufräumen seine Daten löscht.",
  },
  whichSeries: "Welche Reihe",
  allSeries: "Alle Reihen",
  whichTag: "Mit welchem Schlagwort",
  allTags: "Schlagwörter",
  search: (unseen) => ["Suchen", unseen(" in allen Sicherungsständen")],
  shares: "Freigaben",
  forgotten: "Vergessene",
  forgottenAgo: (ago) => `${ago.charAt(0).toUpperCase()}${ago.slice(1)} vergessen`,
  compare: (ticked) => `Vergleichen${ticked === 1 ? " (noch einer)" : ""}`,
  compareHow: "Wählen Sie zwei Stände aus, um sie zu vergleichen",
  pinned: "Angeheftet. ",
  pinnedMeans: "Angeheftet: Dieser Stand bleibt, was auch immer die Regeln sagen",
  missing: "Einige Dateien fehlen",
  changing: "Einige Dateien änderten sich",
  waiting: "Wartet auf Prüfung",
  verifiedByService: "Vom Dienst geprüft",
  verified: "Geprüft",
};

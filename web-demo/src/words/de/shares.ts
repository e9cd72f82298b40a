/** Shares, in German. */

import type { shares as english } from "../shares";
import { count, counted } from "../numbers";

export const shares: typeof english = {
  about: "Links, die Kopien Ihrer Dateien ohne die Passphrase öffnen. Um einen zu erstellen, sehen Sie in einen Stand und wählen „Teilen“.",
  reading: "Die Freigaben werden gelesen",
  none: "Nichts ist geteilt",
  noneWhy: "Ein Link, der abgelaufen ist oder widerrufen wurde, steht hier nicht mehr.",
  facts: (made, size, ends, isOver) => `Erstellt: ${made} · ${size} · ${isOver ? "abgelaufen" : "läuft ab"}: ${ends}`,
  ended: "Abgelaufen",
  opened: (taken, most) => `${count(taken)} von ${count(most)} Mal geöffnet`,

  revoke: "Widerrufen",
  revokeWhich: (name) => `${name} widerrufen?`,
  revoking: "Wird widerrufen …",
  revoked: "Widerrufen.",
  revokeSays: "Der Link öffnet dann nichts mehr, ein laufender Download bricht ab, und der Server löscht die Kopie. Das lässt sich nicht rückgängig machen.",
  revokeStays: "Wer die Dateien schon gespeichert hat, behält sie. Die Sicherung bleibt, wie sie ist.",

  share: (name) => `${name} teilen`,
  make: "Link erstellen",
  name: "Name",
  counting: "Der Inhalt wird gezählt … Wer den Link öffnet, sieht auch diesen Namen.",
  counted: (files, size) => `${counted(files, "Datei", "Dateien")}, ${size}. Wer den Link öffnet, sieht auch diesen Namen.`,
  tooLarge: (most) => `Ein Link teilt höchstens ${most}`,
  chooseLess: "Wählen Sie weniger.",
  endsAfter: "Läuft ab nach",
  days: (days) => counted(days, "Tag", "Tagen"),
  mayBeOpened: "Lässt sich öffnen",
  times: (times) => (times === 1 ? "einmal" : `${count(times)}-mal`),
  whoReads: (strong) => [strong("Wer den Link hat,"), " kann diese Dateien, ihre Namen und Zeiten ohne Passphrase lesen, bis er abläuft. Das gilt für alle, an die der Link weitergegeben wird."],
  whatServerLearns: (strong) => [strong("Der Server"), " speichert eine zweite Kopie davon, neu verschlüsselt. Er erfährt, wie groß sie ist und wann und von wo sie geöffnet wird. Lesen kann er sie nicht. Kein Schlüssel Ihrer Sicherungen wird weitergegeben."],

  sharing: (name) => `${name} wird geteilt`,
  stored: (done, total) => `${done} von ${total} gespeichert`,
  keepOpen: "Lassen Sie diese Seite offen. Erst wenn alles da ist, lässt sich etwas öffnen.",
  stop: "Abbrechen",

  isMade: "Der Link ist fertig",
  saysMade: "Der Link ist fertig.",
  opens: (files, size, times, ends) => `Er öffnet ${counted(files, "Datei", "Dateien")}, ${size}, ${times === 1 ? "einmal" : `${count(times)}-mal`} bis ${ends}.`,
  link: "Der Link",
  copy: "Kopieren",
  copied: "Kopiert",
  saysCopied: "Kopiert.",
  onlyNow: "Er steht nur hier und nur jetzt",
  onlyNowWhy: "Der Schlüssel steckt im Link und wird nirgends aufbewahrt. Schicken Sie ihn auf einem Weg, dem Sie trauen. Unter „Freigaben“ sehen Sie, wie oft er geöffnet wurde, und können ihn widerrufen.",
  done: "Fertig",
  leftOut: "Ausgelassen",
  entriesLeftOut: (entries) => `${counted(entries, "Eintrag", "Einträge")} ausgelassen`,
  why: { damaged: "beschädigt", link: "eine Verknüpfung zu einem anderen Ort", other: "keine Datei" },
};

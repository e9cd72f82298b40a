/** Unlock, in German. */

import type { unlock as english } from "../unlock";

export const unlock: typeof english = {
  language: "Sprache",
  thisDevice: "Dieses Gerät",
  forgetDevice: "Dieses Gerät vergessen",
  askServer: "Server erneut fragen",
  asking: "Server wird gefragt …",

  starting: "Copal startet …",
  cannotRun: "Copal läuft in diesem Browser nicht",
  itLacks: "Ihm fehlt",
  useAnother: (command) => ["Verwenden Sie einen aktuellen Browser: Firefox, Chrome, Edge oder Safari. Was gespeichert ist, ist nicht betroffen, und der Befehl ", command, " erreicht es von jedem Computer aus."],
  couldNotStart: "Copal konnte nicht starten",
  away: "Der Sicherungsserver antwortet nicht",
  noRepository: "Hier gibt es noch kein Repository",

  title: "Sicherungen entsperren",
  repository: (id, owner) => ["Repository ", id, " · Besitzer ", owner],
  how: "Womit entsperren",
  ways: { passphrase: "Passphrase", "recovery-code": "Code", enrollment: "Einladung" },
  missing: { passphrase: "Geben Sie die Passphrase ein.", "recovery-code": "Geben Sie den Wiederherstellungscode ein.", enrollment: "Fügen Sie die Zeile oder den Link der Einladung ein." },
  slotsClosed: "Dieser Server gibt seine versiegelten Schlüssel nicht heraus",
  askToOpen: "Ein Browser, der noch nie hier war, lässt sich nicht mit einer Passphrase entsperren. Bitten Sie die Person, die den Server betreibt, die Schlüssel eine Weile herauszugeben, oder verwenden Sie eine Einladung.",
  recoveryCode: "Wiederherstellungscode",
  codeWasShown: "Er wurde einmal gezeigt, als das Repository angelegt wurde.",
  lineOrLink: "Zeile oder Link der Einladung",
  linePrinted: (command) => ["Die Zeile oder den Link gibt ", command, " aus. Beides gilt nur einmal."],
  showPassphrase: "Passphrase zeigen",
  unlock: "Entsperren",
  unlocking: "Wird entsperrt …",
  join: "Beitreten",
  joining: "Beitritt läuft …",
  makerDecided: "Was dieser Browser darf, hat festgelegt, wer die Einladung erstellt hat.",
  staysHere: "Ihre Eingabe bleibt in diesem Browser. Der Server sieht sie nie.",
  anotherWay: "Anders entsperren",
  locked: {
    idle: "Gesperrt, weil eine Weile niemand hier war. Es ist nichts verloren.",
    asked: "Gesperrt. Diese Seite hat die Schlüssel nicht mehr.",
    failed: "Gesperrt, weil etwas schiefging. Was gespeichert ist, ist nicht betroffen.",
  },

  joinFull: {
    title: "Diesem Browser vollen Zugriff geben",
    means: "Mit dieser Einladung und der Passphrase wird dieser Browser zu einem Gerät des Besitzers.",
    can: "Er kann sichern, wiederherstellen und alles sehen.",
    cannot: "Er behält nichts, was das Repository öffnet. Nach der Passphrase wird jedes Mal gefragt.",
  },
  joinWriteOnly: {
    title: "Aus diesem Browser sichern",
    means: "Mit dieser Einladung wird dieser Browser zu einem Gerät, das dem Repository Sicherungen hinzufügt.",
    can: "Er kann Sicherungen hinzufügen. Sie werden verschlüsselt, bevor sie ihn verlassen.",
    cannot: "Er kann keine lesen oder löschen, auch die eigenen nicht. Das kann nur der Besitzer.",
  },
  worksOnce: "Die Einladung gilt nur einmal. Aus der Adresszeile ist sie schon verschwunden.",
  deviceExample: "Browser auf meinem Laptop",
  deviceHint: "Daran erkennen Sie seine Sicherungen. Das Feld darf leer bleiben.",

  mayAdd: "Dieser Browser darf Sicherungen hinzufügen und braucht dafür keine Passphrase.",
  open: "Öffnen",
  opening: "Wird geöffnet …",
  askAgain: "Erneut fragen",
  likeNew: "Wenn dieser Browser vergisst, dass er dieses Gerät war, lässt er sich entsperren wie einer, der noch nie hier war. Es geht keine Sicherung verloren.",

  lastKnown: {
    title: "Ohne den Server",
    keeps: (hasNetwork, time) => `${hasNetwork ? "Der Sicherungsserver antwortet nicht." : "Es besteht keine Netzverbindung."} Dieser Browser hat die Liste der Sicherungsstände vom ${time}.`,
    showList: "Liste zeigen",
  },
};

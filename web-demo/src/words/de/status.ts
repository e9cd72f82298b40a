/** Status, in German. */

import type { status as english } from "../status";
import type { Fault, Thing } from "../../core/findings";
import { count, counted, digits } from "../numbers";

const money = (dollars: number) => (dollars > 0 && dollars < 0.01 ? "unter 0,01 $" : `${digits(dollars, 2)} $`);
const backups = (number: number) => counted(number, "Sicherung", "Sicherungen");

const THINGS: Record<Thing, [one: string, several: string]> = {
  pack: ["Ein Teil der gespeicherten Daten", "Teile der gespeicherten Daten"],
  content: ["Etwas, das Sicherungen enthalten,", "Dinge, die Sicherungen enthalten,"],
  index: ["Ein Teil des Index", "Teile des Index"],
  state: ["Ein Teil der Liste aller Sicherungen", "Teile der Liste aller Sicherungen"],
  roots: ["Die Liste aller Sicherungen", "Listen aller Sicherungen"],
  root: ["Eine Fassung der Liste aller Sicherungen", "Fassungen der Liste aller Sicherungen"],
  manifest: ["Das Protokoll eines Sicherungsschritts", "Protokolle von Sicherungsschritten"],
  receipt: ["Die Quittung für einen Sicherungsschritt", "Quittungen für Sicherungsschritte"],
  change: ["Eine unterschriebene Änderung", "unterschriebene Änderungen"],
  expiry: ["Ein Protokoll dessen, was nach den Regeln weggefallen ist,", "Protokolle dessen, was nach den Regeln weggefallen ist,"],
  deletion: ["Das Protokoll einer Löschung", "Protokolle von Löschungen"],
  client: ["Der Eintrag eines Geräts", "Einträge von Geräten"],
  "client-copy": ["Eine Kopie des Eintrags eines Geräts", "Kopien der Einträge von Geräten"],
  key: ["Eine Kopie eines Schlüssels", "Kopien von Schlüsseln"],
  keys: ["Jeder Schlüssel des Repositorys", "Schlüssel des Repositorys"],
  descriptor: ["Die Beschreibung des Repositorys", "Beschreibungen des Repositorys"],
  reader: ["Das Leseprogramm im Repository", "Leseprogramme im Repository"],
};

const FAULTS: Record<Fault, (number: number) => string> = {
  missing: (number) => (number === 1 ? "fehlt" : "fehlen"),
  damaged: (number) => (number === 1 ? "ist beschädigt" : "sind beschädigt"),
  dangling: (number) => (number === 1 ? "verweist auf etwas, das nicht da ist" : "verweisen auf etwas, das nicht da ist"),
  stale: (number) => (number === 1 ? "ist beschädigt, wird aber nicht mehr gebraucht" : "sind beschädigt, werden aber nicht mehr gebraucht"),
};

export const status: typeof english = {
  reading: "Der Zustand wird gelesen",
  sizeOfRepository: "Größe des Repositorys",
  sizeAbout: "Was nach jeder Änderung gespeichert ist, verschlüsselt.",

  unfinished: (number) => (number < 2 ? "Eine unfertige Sicherung" : `${backups(number)} sind noch nicht fertig`),
  unfinishedOne: (label, ago, size) =>
    [label, ago === null ? `, läuft gerade: ${size} sind schon da.` : `, ${ago}: ${size} sind schon da. Sichern Sie den Ordner noch einmal, dann geht es dort weiter.`],
  unfinishedSteps: (steps) => (steps === 1 ? "1 Schritt davon wird gerade geprüft." : `${count(steps)} Schritte davon werden gerade geprüft.`),

  verdict: {
    refused: (number) => `${backups(number)} ${number === 1 ? "wurde" : "wurden"} nicht angenommen`,
    noneFinished: "Noch keine Sicherung ist fertig",
    nothing: "Noch ist nichts gesichert",
    waiting: (number) => `${backups(number)} ${number === 1 ? "wartet" : "warten"} auf die Prüfung`,
    good: "Alle Sicherungen sind geprüft",
    newest: (ago) => `Neueste Sicherung ${ago}.`,
    checked: (ago, read, isSound) => `Letzte Prüfung ${ago}${read === null ? "" : `, ${read} gelesen und verglichen`}${isSound ? ": alles in Ordnung." : "."}`,
    unchecked: "Noch nicht geprüft.",
    repair: (command) =>
      ["Sichern Sie dieselben Ordner noch einmal: Was dort noch da ist, wird neu gespeichert. Danach sollte die Person, die das Repository betreibt, ", command, " ausführen: Der Befehl sagt, was noch fehlt."],
  },

  findings: {
    said: (fault, thing, number) => {
      const [one, several] = THINGS[thing];
      if (fault === "dangling" && thing === "content") return `${number === 1 ? `${one} ist` : `${count(number)} ${several} sind`} nirgends mehr gespeichert.`;
      return `${number === 1 ? one : `${count(number)} ${several}`} ${FAULTS[fault](number)}.`;
    },
    unknown: "Die Prüfung hat etwas gefunden, das diese Seite nicht kennt:",
    harms: (number, names) => [number === 1 ? "Davon betroffen ist 1 Sicherung: " : `Davon betroffen sind ${backups(number)}, die neuesten: `, names],
    harmsUnlisted: (number) => (number === 1 ? "Davon betroffen ist 1 Sicherung." : `Davon betroffen sind ${backups(number)}.`),
    asWritten: "Im Wortlaut der Prüfung (englisch)",
  },

  space: {
    title: "Gesparter Platz",
    about: "Was Ihre Sicherungsstände enthalten und wie viel Platz sie belegen.",
    smaller: "kleiner",
    copies: "Alle Stände, jeder als volle Kopie",
    newest: "Nur der jeweils neueste",
    stored: "Gespeichert, ohne Doppeltes und komprimiert",
    less: (percent) => `${percent} % weniger`,
  },

  receipts: {
    title: "Sicherungen",
    ofThisDevice: "Sicherungen dieses Geräts",
    none: "Noch keine",
    noneAbout: "Sobald es eine Sicherung gibt, steht hier, ob der Dienst sie geprüft hat.",
    table: "Sicherungen und ob sie geprüft sind",
    backup: "Sicherung",
    state: "Zustand",
    verified: "Geprüft",
    waiting: "Wartet",
    rejected: "Abgelehnt",
    newestOf: (newest, all) => `Die neuesten ${newest} von ${backups(all)}.`,
  },

  upkeep: {
    title: "Wartung",
    itsOwn: "Der Dienst tut das nach seinem eigenen Zeitplan. Von hier aus lässt es sich nicht starten.",
    byItself: "Der Dienst tut das von selbst. Sie müssen es nicht starten, können es aber.",
    check: {
      title: "Prüfung", start: "Jetzt prüfen", running: "Wird geprüft …", started: "Die Prüfung ist gestartet.",
      about: "Liest den Teil der gespeicherten Daten, der an der Reihe ist, und vergleicht ihn mit dem, was gespeichert wurde.",
    },
    prune: {
      title: "Aufräumen", start: "Jetzt aufräumen", running: "Wird aufgeräumt …", started: "Das Aufräumen ist gestartet.",
      about: "Löscht, was kein Sicherungsstand mehr braucht, sobald die Frist zum Zurückholen vorbei ist. Wie lang sie ist, steht unter „Was behalten wird“.",
    },
    failed: "Der letzte Lauf ist gescheitert.",
    neverYet: "Davon liegt noch keine Meldung vor.",
    lastCheck: (ago, isSound, read) => `Zuletzt ${ago}: ${isSound ? "alles in Ordnung" : "Schäden"}${read === null ? "" : `, ${read} gelesen`}.`,
    lastPrune: (ago, freed) => `Zuletzt ${ago}${freed === null ? "" : `: ${freed} frei geworden`}.`,
    never: "Dieser Server tut es nie von selbst, deshalb lässt es sich hier auch nicht starten.",
    runs: (hours) => {
      if (hours < 1) return "Läuft öfter als jede Stunde.";
      if (hours === 1) return "Läuft jede Stunde.";
      if (hours === 24) return "Läuft jeden Tag.";
      return hours % 24 === 0 ? `Läuft alle ${hours / 24} Tage.` : `Läuft alle ${hours} Stunden.`;
    },
  },

  growth: {
    title: "Was jedes Gerät hinzugefügt hat",
    about: "Was mehrere Geräte haben, zählt bei dem, das es zuerst gespeichert hat. Was seitdem gelöscht wurde, ist nicht abgezogen.",
    cost: money,
    costAtMost: (dollars) => `${dollars > 0 && dollars < 0.01 ? "" : "bis zu "}${money(dollars)} im Monat`,
    aMonth: "im Monat",
    costAbout: (size, price) => `Zurzeit sind ${size} gespeichert, bei ${String(price).replace(".", ",")} $ je GB und Monat. Anfragen und Übertragungen kosten extra, wo sie berechnet werden. Den Preis ändern Sie in den Einstellungen.`,
    add: "Zusammenrechnen",
    addAgain: "Neu zusammenrechnen",
    addAbout: "Beim ersten Mal wird für jeden Schritt einer Sicherung ein kleiner Eintrag gelesen.",
    adding: "Wird zusammengerechnet …",
    stepsRead: (done, total) => `${count(done)} von ${counted(total, "Schritt", "Schritten")} gelesen …`,
    stop: "Abbrechen",
    nothing: "Noch nichts.",
    device: (id) => `Gerät ${id}`,
    chart: (device) => `Was ${device} hinzugefügt hat`,
    unnamed: "Reihe ohne behaltenen Stand",
  },

  chart: {
    about: (label, size, day, lastSize, lastDay) => `${label}: von ${size} am ${day} bis ${lastSize} am ${lastDay}`,
    asTable: "Als Tabelle",
    table: (label) => `${label}, als Tabelle`,
    time: "Zeit",
    size: "Größe",
  },
};

/** Kept, in German. */

import type { Unit, kept as english } from "../kept";
import { count, counted } from "../numbers";
import { time } from "./time";

/** One of it, several, each one of it, and what is of it. */
const UNITS: Record<Unit, [one: string, several: string, every: string, its: string]> = {
  year: ["Jahr", "Jahre", "jedes Jahr", "ihres Jahres"],
  quarter: ["Quartal", "Quartale", "jedes Quartal", "ihres Quartals"],
  month: ["Monat", "Monate", "jeden Monat", "ihres Monats"],
  week: ["Woche", "Wochen", "jede Woche", "ihrer Woche"],
  day: ["Tag", "Tage", "jeden Tag", "ihres Tages"],
  hour: ["Stunde", "Stunden", "jede Stunde", "ihrer Stunde"],
  minute: ["Minute", "Minuten", "jede Minute", "ihrer Minute"],
  second: ["Sekunde", "Sekunden", "jede Sekunde", "ihrer Sekunde"],
};
const backups = (number: number) => counted(number, "Sicherung", "Sicherungen");
const its = (unit: Unit | null) => UNITS[unit ?? "day"][3];

export const kept: typeof english = {
  reading: "Die Regeln werden gelesen",
  changeRules: "Regeln ändern …",
  setRules: "Regeln festlegen …",
  weighing: "Für jede Sicherung wird nachgesehen, ob sie bleibt …",
  nameless: (device) => ["eine Sicherung des Geräts ", device],

  inForce: {
    everything: "Alles wird behalten",
    noRules: (number) => `Es gibt keine Regeln. ${number < 2 ? "Jede Sicherung" : `Jede Ihrer ${backups(number)}`} bleibt, bis jemand sie vergisst, und mit jeder wächst das Repository.`,
    title: "Die geltenden Regeln",
    about: "Sie betrachten jeden Namen jedes Geräts für sich: Kein Gerät verdrängt, was ein anderes gesichert hat.",
    letNothingGo: "Jede Sicherung bleibt, bis jemand sie vergisst: Keine Regel lässt eine wegfallen.",
    guarded: (floor) => `Auch vor dem Vergessen geschützt: ${floor}. Was davon vergessen wird, lässt sich zurückholen, solange es geschützt ist.`,
    unguarded: (grace) => `Nichts ist geschützt: Was jemand vergisst, lässt sich ${grace} lang zurückholen, dann löscht es das Aufräumen.`,
    everythingElse: "Alles andere, was festgelegt ist",
  },

  rules: {
    length: (number, unit) => counted(number, UNITS[unit][0], UNITS[unit][1]),
    every: (unit) => UNITS[unit][2],
    within: (span) => `Alles, was höchstens ${span} alt ist`,
    all: "Jede Sicherung",
    last: (number) => (number === 1 ? "Die letzte Sicherung" : `Die letzten ${backups(number)}`),
    forLast: (lengths) => `Je eine für die letzten ${lengths}`,
    forEvery: (units) => `Je eine für ${units}`,
    forSpan: (unit, span) => `Je eine für ${UNITS[unit][2]}, bis ${span} zurück`,
    ends: (span) => `Die erste und die letzte jedes Tages, bis ${span} zurück`,
    tagged: (number, tags) => `Sicherungen mit ${number === 1 ? "dem Schlagwort" : "den Schlagwörtern"} ${tags}`,
    tag: (name) => `„${name}“`,
    unknownTag: (id) => `${id}… (Name unbekannt)`,
    pinned: "Angeheftete Sicherungen",
    // No line begins with a noun.
    together: (lines, floor) => {
      const [first, ...others] = [...lines, ...(floor === null ? [] : [`Geschützt: ${floor}`])];
      return `${[first, ...others.map((line) => line.charAt(0).toLowerCase() + line.slice(1))].join("; ")}.`;
    },
    floorLast: (number) => (number === 1 ? "die letzte zu jedem Namen" : `die letzten ${count(number)} zu jedem Namen`),
    floorAge: (age) => `alles, was jünger ist als ${age}`,
    noHold: "Keine Sicherung gilt je als verdächtig",
    hold: (percent, least) => `Eine Sicherung, der ${percent} % der vorigen fehlen oder die ebenso viel neu gespeichert hat, hält alles unter ihrem Namen an (ab ${least})`,
    grace: (time) => `Vergessenes lässt sich noch zurückholen, mindestens ${time} lang`,
    utc: "Tage beginnen um Mitternacht UTC",
    zone: (zone) => `Tage beginnen um Mitternacht der Zeitzone ${zone}`,
    checkParts: (parts) => (parts === 1 ? "Jede Prüfung liest alles, was gespeichert ist" : `Jede Prüfung liest einen von ${count(parts)} Teilen dessen, was gespeichert ist`),
    linger: (until, floor, hasHolds) =>
      `Bis zum ${until} bleibt auch, was die früheren Regeln geschützt haben: ${[...(floor === null ? [] : [floor]), ...(hasHolds ? ["was sie angehalten haben"] : [])].join("; ")}.`,
  },

  holds: {
    title: (number) => `${backups(number)} ${number === 1 ? "sieht" : "sehen"} verdächtig aus`,
    about: (number) => (number === 1
      ? "Unter ihrem Namen fällt keine Sicherung weg, und keine vergessene wird gelöscht, bis Sie sie freigeben. Vergleichen Sie sie erst mit der Sicherung davor."
      : "Unter diesen Namen fällt keine Sicherung weg, und keine vergessene wird gelöscht, bis Sie sie freigeben. Vergleichen Sie jede erst mit der Sicherung davor."),
    release: "Freigeben …",
    entries: (now, before) => `Sie hat etwa ${counted(now, "Datei oder Ordner", "Dateien und Ordner")}, die davor hatte ${count(before)}.`,
    bytes: (now, before) => `Sie enthält etwa ${now}, die davor enthielt ${before}.`,
    rewritten: (now, before) => `Von ${before}, die schon da waren, mussten für sie etwa ${now} neu gespeichert werden. So sieht es aus, wenn Dateien verschlüsselt wurden.`,
  },

  change: {
    title: "Regeln",
    others: "Andere Regeln",
    which: "Welche Regeln",
    family: { title: "Eine Familie", about: "Fotos, Briefe, Hausaufgaben: die letzten Wochen fein, die Jahre grob, für immer." },
    office: { title: "Ein Büro", about: "Arbeit, die sich stündlich ändert, und Unterlagen aus zehn Jahren." },
    little: { title: "Wenig Platz", about: "Ein halbes Jahr zurück, so wenig wie vertretbar." },
    own: "Eigene Zahlen",
    ownFromPolicy: "Ausgehend von den geltenden Regeln.",
    ownFromNone: "Für jeden Namen jedes Geräts.",
    keep: "Wie viele behalten werden, je eine pro Zeitraum",
    fields: { last: "Letzte Sicherungen", hourly: "Stunden", daily: "Tage", weekly: "Wochen", monthly: "Monate", quarterly: "Quartale", yearly: "Jahre" },
    all: "alle",
    keepHint: "Ein Tag ohne Sicherung zählt nicht. Leer heißt: keine Regel; „alle“ heißt: ohne Ende zurück.",
    notWhole: "Eine ganze Zahl oder „alle“.",
    within: "Alles der letzten",
    withinHint: "Zum Beispiel 2d (Tage), 3w (Wochen), 6m (Monate) oder 1y (Jahr).",
    noSpan: "Eine Zahl und eine Einheit, zum Beispiel 2d, 3w, 6m oder 1y.",
    floorLast: "Schutz für die letzten",
    floorLastHint: "Zu jedem Namen, auch vor dem Vergessen.",
    noNumber: "Eine ganze Zahl.",
    floorAge: "Schutz in Tagen",
    floorAgeHint: "Was jünger ist, auch vor dem Vergessen.",
    noDays: "Eine Anzahl von Tagen.",
    stays: "Was so bleibt, wie es ist",
    staysAbout: (command) => ["Diese Regeln legt nur ", command, " fest."],
    look: "Zeigen, was wegfällt",
    leave: "Regeln lassen, wie sie sind",
  },

  more: {
    title: "Mehr: Schlagwörter, verdächtige Sicherungen, Frist zum Zurückholen, Zeitzone",
    tags: {
      title: "Sicherungen, die wegen ihrer Schlagwörter bleiben",
      about: "Eine Sicherung, die alle Schlagwörter einer Zeile hat, bleibt, egal wie alt sie ist. Schlagwörter vergeben Sie in der Liste der Sicherungen.",
      label: "Schlagwörter",
      add: "Hinzufügen",
      hint: "Mit Kommas dazwischen: Dann braucht eine Sicherung sie alle.",
      known: "Schlagwörter, die Sicherungen haben",
      remove: "Entfernen",
    },
    hold: {
      title: "Verdächtige Sicherungen",
      about: "Wurden viele Dateien gelöscht oder verschlüsselt, sieht die nächste Sicherung ganz anders aus als die davor. Dann fällt unter ihrem Namen nichts weg, bis Sie nachgesehen und sie freigegeben haben.",
      watch: "Auf verdächtige Sicherungen achten",
      share: "Prozent, die fehlen oder neu sind",
      shareHint: "Eine kleinere Zahl bemerkt mehr und fragt Sie öfter.",
      noShare: "Eine ganze Zahl von 1 bis 100.",
      least: "Mindestgröße der Sicherung davor, in MiB",
      leastHint: "Nach einer kleineren Sicherung gilt keine als verdächtig.",
      noLeast: "Eine Anzahl von MiB.",
    },
    grace: {
      label: "Frist zum Zurückholen",
      hint: "Zum Beispiel 36h (Stunden), 2d (Tage) oder 1w (Woche).",
      wrong: "Eine Zahl und eine Einheit, zum Beispiel 36h, 2d oder 1w; mindestens 1h.",
      about: "So lange lässt sich zurückholen, was wegfällt oder vergessen wird. Erst danach wird der Platz frei.",
    },
    zone: {
      label: "Tage beginnen um Mitternacht",
      own: (name) => `In ${name}, wo dieser Browser ist`,
      asNow: (zone) => `In der Zeitzone ${zone}, wie bisher`,
      utc: "UTC (Weltzeit)",
      hint: "In dieser Zeitzone zählen die Regeln Tage, Wochen und Monate.",
    },
  },

  weaker: {
    title: "Das schützt weniger als bisher",
    fromAll: "Bisher bleibt jede Sicherung, bis jemand sie vergisst.",
    rules: (before, after) => `Bisher: ${before}. Dann: ${after}.`,
    tags: (tagged) => `${tagged} würden nicht mehr für immer bleiben.`,
    guard: (before, after) => `Bisher geschützt: ${before}. Dann: ${after ?? "nichts"}.`,
    noHold: "Keine Sicherung würde mehr als verdächtig gelten. Wurden Dateien verschlüsselt oder gelöscht, ließen die Regeln die guten Sicherungen wegfallen.",
    hold: (share, least, then, thenLeast) => `Bisher ist eine Sicherung verdächtig, wenn ${share} % der vorigen fehlen oder neu gespeichert wurden und diese mindestens ${least} hatte. Dann: ${then} %, mindestens ${thenLeast}.`,
    grace: (before, after) => `Bisher lässt sich ${before} lang zurückholen, was wegfällt oder vergessen wird. Dann: ${after}. Das gilt sofort, auch für das, was schon weggefallen ist.`,
  },

  forecast: {
    signThese: "Diese Regeln unterschreiben …",
    nothingGoes: (stays) => `Jetzt würde nichts wegfallen: ${backups(stays)} ${stays === 1 ? "bleibt" : "bleiben"}`,
    wouldGo: (goes, stays) => `${backups(goes)} ${goes === 1 ? "würde" : "würden"} wegfallen, ${count(stays)} ${stays === 1 ? "bleibt" : "bleiben"}`,
    later: (later, until) => `${later === 1 ? "1 weitere würde" : `${count(later)} weitere würden`} später wegfallen: Der Schutz der früheren Regeln behält sie noch bis ${time.within(until)}.`,
    freed: (number) => (number === 1
      ? "1 vergessene Sicherung wäre nicht mehr geschützt, und das Aufräumen darf sie löschen."
      : `${count(number)} vergessene Sicherungen wären nicht mehr geschützt, und das Aufräumen darf sie löschen.`),
    holds: (number) => `${backups(number)} ${number === 1 ? "würde weiter alles unter ihrem Namen" : "würden weiter alles unter ihren Namen"} anhalten`,
    holdsAbout: (number) => (number === 1 ? "Von diesem Namen fällt nichts weg, bis sie freigegeben ist." : "Von diesen Namen fällt nichts weg, bis sie freigegeben sind."),
    none: "Es gibt noch keine Sicherung.",
    go: (number) => `${count(number)} ${number === 1 ? "geht" : "gehen"}`,
    stay: (number) => (number === 1 ? "1 bleibt" : `${count(number)} bleiben`),
    table: "Was aus jeder Sicherung wird",
    columns: { backup: "Sicherung", becomes: "Was geschieht", why: "Warum" },
    newestOf: (newest, all) => `Die neuesten ${count(newest)} von ${count(all)}.`,
    becomes: { goes: "Fällt weg", later: "Später weg", stays: "Bleibt" },
    noRule: "Keine Regel behält sie",
    reasons: {
      "no-rule": () => "keine Regel lässt etwas wegfallen",
      pinned: () => "angeheftet",
      tagged: () => "ihre Schlagwörter",
      within: (_, __, span) => `höchstens ${span} alt`,
      counted: (unit, nth) => (unit === null ? `Nummer ${count(nth)} der letzten` : `die neueste ${its(unit)}`),
      oldest: () => "die älteste ihres Namens",
      "counted-within": (unit, _, span) => `die neueste ${its(unit)} (bis ${span} zurück)`,
      "day-floor": () => "die erste oder letzte ihres Tages",
    },
    byHold: "Eine Sicherung hält alles unter diesem Namen an",
    byLast: "Der Schutz behält die letzten zu jedem Namen",
    byAge: (until) => `Der Schutz behält sie bis zum ${until}`,
  },

  ask: {
    release: { title: "Diese Sicherung freigeben?", sign: "Unterschreiben und freigeben" },
    set: { title: "Diese Regeln festlegen?", sign: "Unterschreiben und festlegen" },
    counts: (floor) => `${floor === null ? "Nichts ist geschützt" : `Geschützt: ${floor}`}. Das gilt für alle Geräte, bis Sie andere Regeln unterschreiben.`,
    broughtBack: (time) => `Wie Vergessenes lässt es sich noch zurückholen, mindestens ${time} lang.`,
    releases: "Sie bestätigen, dass sie so ist, wie sie sein soll. Dann gelten die Regeln wieder für ihren Namen: Ältere Sicherungen dürfen wegfallen, auch die guten davor.",
  },

  outcomes: {
    waiting: { title: "Unterschrieben und gespeichert", about: "Der Server hat es noch nicht übernommen. Diese Seite zeigt es, sobald er so weit ist." },
    set: { title: "Die Regeln sind unterschrieben", about: "Der Dienst folgt ihnen von jetzt an. Einmal in der Stunde sucht er, was wegfallen darf, sofern es auf dem Server nicht anders eingestellt ist." },
    released: { title: "Freigegeben", about: "Die Regeln gelten wieder für diese Sicherungen." },
  },
};

/** Alarms, in German. */

import type { ScheduledJob } from "../../core/api";
import type { alarms as english } from "../alarms";
import { counted } from "../numbers";

const JOBS: Record<ScheduledJob["job"], string> = { check: "beim Prüfen", prune: "beim Aufräumen", compact: "beim Verdichten des Index", expire: "beim Ablaufen alter Sicherungen" };

export const alarms: typeof english = {
  title: "Warnungen",
  settle: "Nicht mehr erwarten",
  settleWhat: (title) => `Nicht mehr erwarten: ${title}`,
  look: "Ansehen",
  lookWhat: (title) => `Ansehen: ${title}`,

  someSeries: "Eine Reihe",
  seriesOf: (source, device) => `${source} von ${device}`,
  oldHere: (folder, ago) => `${folder} wurde hier zuletzt ${ago} gesichert`,
  oldHereAdvice: "Dieser Browser merkt sich den Ordner. Sichern Sie ihn wieder, oder vergessen Sie ihn unter „Sichern“.",
  old: (series, ago) => `${series} wurde zuletzt ${ago} gesichert`,
  oldAdvice: (days, hours) =>
    `Bisher kam ungefähr ${days > 1 ? `alle ${counted(days, "Tag", "Tage")}` : days === 1 ? "jeden Tag" : hours > 1 ? `alle ${counted(hours, "Stunde", "Stunden")}` : "jede Stunde"} eine Sicherung. Sehen Sie nach, ob das Gerät noch sichert.`,
  damage: "Die letzte Prüfung hat Schäden gefunden",
  damageAdvice: "Sichern Sie dieselben Ordner noch einmal: Was dort noch da ist, wird neu gespeichert. Was gefunden wurde, steht weiter unten.",
  hold: (series) => `${series} hat sich auf einmal stark geändert`,
  holdAdvice: "Nichts davon wird entfernt, bis es freigegeben ist. Sehen Sie nach, ob die neueste Sicherung so ist, wie Sie es erwarten: So sieht ein Gerät aus, dessen Dateien jemand verschlüsselt hat.",
  fails: (jobs) => `Der Dienst scheitert ${jobs.map((job) => JOBS[job]).join(" und ")}`,
  failsAdvice: "Wer den Server betreibt, findet den Grund im Protokoll.",
  noCheck: (days) => `Der Dienst hat das Repository ${days === null ? "noch nie" : `seit ${counted(days, "Tag", "Tagen")} nicht`} geprüft`,
  noCheckAdvice: "Schäden bleiben so unbemerkt. Wer den Server betreibt, sollte nachsehen, ob dessen Aufgaben noch laufen.",
  noPrune: (days) => `Der Dienst hat das Repository ${days === null ? "noch nie" : `seit ${counted(days, "Tag", "Tagen")} nicht`} aufgeräumt`,
  noPruneAdvice: "Was niemand mehr braucht, belegt weiter Platz. Wer den Server betreibt, sollte nachsehen, ob dessen Aufgaben noch laufen.",
  quota: (percent) => `${percent} des zugeteilten Platzes sind belegt`,
  quotaAdvice: (used, quota) => `${used} von ${quota}. Ist er voll, werden Sicherungen nicht mehr fertig. Mehr Platz gibt Ihnen, wer den Server betreibt. Oder vergessen Sie alte Stände.`,
  daily: (percent) => `${percent} dessen, was in 24 Stunden dazukommen darf, sind verbraucht`,
  dailyAdvice: (used, quota) => `${used} von ${quota}. Der Rest einer größeren Sicherung geht morgen weiter.`,

  backedUp: (label) => `${label} ist gesichert`,
  notBackedUp: (label) => `${label} ist nicht gesichert`,
};

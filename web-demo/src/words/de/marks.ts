/** Marks, in German. */

import type { marks as english } from "../marks";
import { counted } from "../numbers";

const DONE: Record<Parameters<(typeof english)["done"]>[0], string> = { forget: "Vergessen", undelete: "Zurückgeholt", pin: "Angeheftet", unpin: "Gelöst", tag: "Schlagwörter geändert" };

const stands = (number: number) => counted(number, "Stand", "Stände");

export const marks: typeof english = {
  withTicked: "Mit den ausgewählten Ständen",
  ticked: (snapshots) => `${stands(snapshots)} ausgewählt`,
  tickNone: "Auswahl aufheben",
  begin: { forget: "Vergessen …", undelete: "Zurückholen …", pin: "Anheften …", unpin: "Lösen …", tag: "Schlagwörter …" },

  ask: {
    forget: (snapshots) => `${stands(snapshots)} vergessen?`,
    undelete: (snapshots) => `${stands(snapshots)} zurückholen?`,
    pin: (snapshots) => `${stands(snapshots)} anheften?`,
    unpin: (snapshots) => `${stands(snapshots)} lösen?`,
    tag: (snapshots) => `Schlagwörter von ${counted(snapshots, "Stand", "Ständen")} ändern?`,
  },
  says: {
    forget: "Sie verschwinden sofort aus den Listen aller Geräte, und das Aufräumen darf löschen, was nur sie brauchen.",
    undelete: "Sie stehen wieder in den Listen aller Geräte.",
    pin: "Sie werden behalten, was immer die Regeln sagen, und niemand kann sie vergessen, bevor jemand sie löst.",
    unpin: "Danach dürfen Regeln und Menschen sie wieder vergessen.",
    tag: "Schlagwörter sind Namen, die alle Ihre Geräte sehen und der Server nicht lesen kann.",
  },
  sign: { forget: "Unterschreiben und vergessen", undelete: "Unterschreiben und zurückholen", pin: "Unterschreiben und anheften", unpin: "Unterschreiben und lösen", tag: "Unterschreiben" },

  tagsToRemove: "Schlagwörter, die wegfallen",
  remove: "Entfernen:",
  addTags: "Schlagwörter hinzufügen",
  tagExamples: "vor-dem-umzug, steuern",
  commas: "Mit Kommas dazwischen.",

  asking: "Es wird nachgesehen, was die Regeln behalten …",
  untold: "Was die Regeln behalten, lässt sich nicht sagen",
  untoldWhy: "Ihr Schutz gilt trotzdem, und was angehalten ist, bleibt es.",
  bringBack: (span) => `Sie können sie mindestens ${span} lang zurückholen. So lange löscht das Aufräumen nichts davon. Was die Regeln schützen oder was angehalten ist, lässt sich so lange zurückholen, wie es geschützt ist.`,
  isPinned: "Er ist angeheftet und bleibt: Lösen Sie ihn zuerst.",
  stays: {
    hold: "Seine Daten bleiben: Alle Sicherungen dieses Namens sind angehalten.",
    last: "Seine Daten bleiben: Der Schutz behält die letzten Sicherungen jedes Namens.",
    young: (until) => `Seine Daten bleiben bis zum ${until}: Der Schutz behält, was so jung ist.`,
  },

  stored: "Unterschrieben und gespeichert",
  storedWhy: "Der Server hat es noch nicht übernommen. Die Liste zeigt es, sobald er so weit ist.",
  done: (act, snapshots) => `${DONE[act]}: ${stands(snapshots)}`,
  unchanged: (snapshots, isFreed) => `${stands(snapshots)} ${snapshots === 1 ? "blieb" : "blieben"} wie zuvor: ${isFreed ? "Das Aufräumen hat die Daten schon gelöscht." : "Jemand hat inzwischen etwas daran geändert."}`,
  after: {
    forget: "Unter „Vergessene“ lassen sie sich zurückholen, bis ihre Daten gelöscht sind.",
    undelete: "Sie stehen wieder in den Listen, auf jedem Gerät.",
    pin: "Sie werden behalten, bis jemand sie löst.",
    unpin: "Regeln und Menschen dürfen sie jetzt wieder vergessen.",
    tag: "Die anderen Geräte sehen sie auch.",
  },
};
